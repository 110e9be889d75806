package zone

import (
	"errors"
	"fmt"
)

var ErrGone = errors.New("gone")
var seen map[string]bool

func init() {} // want an init function

func (Queue) init() {}

var Default = Config{}              // want Default
var Registry map[string]string      // want Registry
var ErrWrapped = fmt.Errorf("late") // want ErrWrapped
var a, Both = 1, 2                  // want Both
