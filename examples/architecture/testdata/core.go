package zone

import (
	. "bytes" // want imports as .
	"context"
	_ "embed" // want imports as _
	"fmt"
	"math/rand"
	dice "math/rand/v2"
	"net/http" // want imports net/http,
	clk "time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait" // want imports k8s.io/apimachinery/pkg/util/wait,
	"k8s.io/client-go/kubernetes"       // want imports k8s.io/client-go/kubernetes,
	"k8s.io/klog/v2"
)

var asValue = clk.Now // want uses Now of time

type source interface {
	Get(ctx context.Context, name string) error
}

type state struct {
	random *dice.Rand
	seen   metav1.Time
	limit  rate.Limit
	timer  *clk.Timer    // want uses Timer of time
	bucket *rate.Limiter // want uses Limiter of golang
	logger klog.Logger   // want uses Logger of k8s.io/klog
	told   chan int      // want has a channel
}

func acts(s *state) {
	go decides(s, clk.Time{}) // want starts a goroutine
	s.told <- 1               // want sends on a channel
	<-s.told                  // want receives from a channel
	select {}                 // want selects on channels
	_ = metav1.Now()          // want uses Now of k8s.io
	_ = rand.Intn(3)          // want uses Intn of math/rand
	_ = dice.N(3)             // want uses N of math/rand/v2
	_ = context.Background()  // want uses Background of context
	fmt.Println()             // want uses Println of fmt
	println()                 // want prints
	_ = func() any {
		return func() any { return clk.Until(s.seen.Time) } // want uses Until of time
	}
}

func waits(ctx context.Context) {} // want takes a context

var alsoWaits = func(context.Context) {} // want takes a context

func decides(s *state, now clk.Time) error {
	if !now.After(s.seen.Add(clk.Minute)) {
		return fmt.Errorf("not before %v", s.seen)
	}
	dice.New(dice.NewPCG(1, 0)).IntN(2)
	return toleration.ToleratesTaint(klog.Logger{}, rate.Every(clk.Second))
}
