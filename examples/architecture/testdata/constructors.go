package zone

type Queue struct{}

func (Config) Validate() error       { return nil }
func (QueueConfig) Validate() error  { return nil }
func (MapConfig[K]) Validate() error { return nil }
func (q *Queue) NewItem() int        { return 0 }
func newQueue() *Queue               { return nil }
func Newest() *Queue                 { return nil }

func NewQueue(config QueueConfig) (*Queue, error)                                  {}
func NewQueue(config Config, now time.Time) (*Queue, error)                        {}
func NewQueue(config Config) (Queue, error)                                        {}
func NewQueue(config Config, now time.Time, random func() float64) (*Queue, error) {}
func NewMap[K comparable](config MapConfig[K]) (*Map[K], error)                    {}

func New(config Config) (*Queue, error)                                // want New does not say what it makes
func NewQueue(config Config) *Queue                                    // want NewQueue has the signature
func NewQueue(config Config) (*Queue, bool)                            // want signature
func NewQueue(config Config) (time.Duration, error)                    // want signature
func NewQueue() (*Queue, error)                                        // want signature
func NewQueue(limits Limits) (*Queue, error)                           // want signature
func NewQueue(config MapConfig) (*Queue, error)                        // want signature
func NewQueue(config *Config) (*Queue, error)                          // want signature
func NewQueue(now time.Time, config Config) (*Queue, error)            // want signature
func NewQueue(config Config, limit int, now time.Time) (*Queue, error) // want signature
func NewQueue(config Config, start time.Time) (*Queue, error)          // want signature
func NewHeap(config HeapConfig) (*Heap, error)                         // want HeapConfig without a method Validate
