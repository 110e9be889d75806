package evictionreport

import (
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/eviction"
)

// Why says in words why a pod must leave its node, or why it may stay.
func Why(v eviction.Decision) string {
	switch v.Reason {
	case eviction.ReasonUntolerated:
		return fmt.Sprintf("does not tolerate taint %s", v.Taint.ToString())
	case eviction.ReasonTolerationEnds:
		return fmt.Sprintf("tolerates taint %s%s", v.Taint.ToString(), forHowLong(v))
	case eviction.ReasonNodeEvicted:
		return "all pods have to leave the node"
	case eviction.ReasonNoTaints:
		return "may stay: the node has no NoExecute taint"
	case eviction.ReasonTolerated:
		return "may stay: it tolerates all taints"
	case eviction.ReasonExempt:
		return "may stay: it is exempt"
	case eviction.ReasonGone:
		return "is gone"
	}
	return string(v.Reason)
}

func forHowLong(v eviction.Decision) string {
	if v.Toleration == nil || v.Toleration.TolerationSeconds == nil {
		return ""
	}
	return fmt.Sprintf(" for %v", time.Duration(max(*v.Toleration.TolerationSeconds, 0))*time.Second)
}
