package show

import (
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/eviction"
)

// Why says in words why a pod must leave its node, or why it may stay.
func Why(v eviction.Verdict) string {
	switch v.Reason {
	case eviction.Untolerated:
		return fmt.Sprintf("does not tolerate taint %s", v.Taint.ToString())
	case eviction.TolerationEnds:
		return fmt.Sprintf("tolerates taint %s%s", v.Taint.ToString(), forHowLong(v))
	case eviction.NodeEvicted:
		return "all pods have to leave the node"
	case eviction.NoTaints:
		return "may stay: the node has no NoExecute taint"
	case eviction.Tolerated:
		return "may stay: it tolerates all taints"
	case eviction.Exempt:
		return "may stay: it is exempt"
	case eviction.Gone:
		return "is gone"
	}
	return string(v.Reason)
}

func forHowLong(v eviction.Verdict) string {
	if v.Toleration == nil || v.Toleration.TolerationSeconds == nil {
		return ""
	}
	return fmt.Sprintf(" for %v", time.Duration(max(*v.Toleration.TolerationSeconds, 0))*time.Second)
}
