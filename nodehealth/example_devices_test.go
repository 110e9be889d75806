package nodehealth_test

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// Devices in racks send heartbeats. A silent device is drained, one every ten
// seconds in a rack, and not before it is known how much of its rack is silent.
// A rack without power is drained at the same rate. A rack of which most, but
// not all, is silent is left alone: more likely its network has failed.
func Example_devices() {
	now := time.Date(2026, time.November, 22, 9, 0, 0, 0, time.UTC)
	start := now
	racks, err := newRackController(now, func(what, device string) {
		fmt.Printf("%3.0f s  %s %s\n", now.Sub(start).Seconds(), what, device)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	devices := []string{"a/1", "a/2", "a/3", "a/4", "c/1", "c/2", "c/3", "c/4", "b/1", "b/2", "b/3"}
	for _, device := range devices {
		racks.Add(now, device)
	}
	// Rack b has no power from 60 s on, until 98 s. The network of rack c drops
	// three of its four devices for good. One device of rack a fails.
	beats := func(device string, second int) bool {
		switch rack, number, _ := strings.Cut(device, "/"); {
		case second < 60:
			return true
		case rack == "b":
			return second >= 98
		case rack == "c":
			return number == "4"
		}
		return device != "a/2"
	}
	for second := range 180 {
		now = start.Add(time.Duration(second) * time.Second)
		for i, device := range devices {
			if second%10 == i%10 && beats(device, second) {
				racks.Heartbeat(now, device)
			}
		}
		racks.Act(now)
	}
	// Output:
	//  80 s  silent b/3
	//  81 s  silent a/2
	//  84 s  silent c/1
	//  85 s  silent c/2
	//  86 s  silent c/3
	//  88 s  silent b/1
	//  89 s  silent b/2
	//  91 s  drain b/3
	//  92 s  drain a/2
	//  98 s  alive b/1
	//  99 s  alive b/2
	// 100 s  alive b/3
}

// A rackController is the composition. In a program its Start and Next are
// those of the parts, by timedqueue.InOrder, and a timedqueue.Dispatcher drives
// it.
type rackController struct {
	monitor *nodehealth.Monitor[string]
	racks   *zone.Tracker[string]
	drains  *timedqueue.Queue[string, string] // the rack of each device
	tell    func(what, device string)
}

func newRackController(now time.Time, tell func(what, device string)) (*rackController, error) {
	health := nodehealth.Config{GracePeriod: 30 * time.Second}
	monitor, err := nodehealth.NewMonitor[string](health, now)
	if err != nil {
		return nil, err
	}
	racks, err := zone.NewTracker[string](zone.Config{StabilizationWindow: 30 * time.Second}, now)
	if err != nil {
		return nil, err
	}
	drains, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, string]{
		Budgets: []timedqueue.Budget[string, string]{{
			Name:    "rack",
			ShareOf: func(_, rack string) string { return rack },
			Held:    true, // a rack holds its devices until it was evaluated
		}},
	}, now)
	if err != nil {
		return nil, err
	}
	return &rackController{monitor, racks, drains, tell}, nil
}

// Add begins to watch a device, which has reported before.
func (c *rackController) Add(now time.Time, device string) {
	c.monitor.Observe(now, device, nodehealth.Observation{Reported: true})
	c.count(now, device, true)
}

func (c *rackController) Heartbeat(now time.Time, device string) {
	c.monitor.Heartbeat(now, device)
}

// Act does all that is due.
func (c *rackController) Act(now time.Time) {
	for task, ok := c.monitor.Start(now); ok; task, ok = c.monitor.Start(now) {
		c.tell(strings.ToLower(string(task.State)), task.Key)
		c.count(now, task.Key, task.State == nodehealth.StateAlive)
		if task.State == nodehealth.StateSilent {
			c.drains.Add(task.Key, rackOf(task.Key), c.racks.NotBefore(task.Key))
		} else {
			c.drains.Remove(task.Key)
		}
		c.monitor.Finish(now, task, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
	}
	for _, change := range c.racks.Evaluate(now).Changes {
		c.drains.SetLimit(now, "rack", change.Zone, rate.Limit(change.Rate))
	}
	for item, ok := c.drains.Start(now); ok; item, ok = c.drains.Start(now) {
		c.tell("drain", item.Key)
		c.drains.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	}
}

func (c *rackController) count(now time.Time, device string, alive bool) {
	c.racks.Observe(now, device, zone.Node{Zone: rackOf(device), Ready: alive})
}

func rackOf(device string) string {
	rack, _, _ := strings.Cut(device, "/")
	return rack
}
