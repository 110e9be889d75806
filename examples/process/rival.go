package process

import (
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// A Rival is kube-controller-manager doing the work of this program next to it.
// The managed fields of objects tell. It warns once. A nil Rival does nothing.
// Its method may be called concurrently.
type Rival struct {
	Logger klog.Logger
	// Since is when this program started. What was written before does not count.
	Since time.Time
	// Field is what only the rival's controller writes, for example "f:taints".
	Field string
	// Warning says what to do.
	Warning string

	warned atomic.Bool
}

// RivalManager is the field manager of all controllers of
// kube-controller-manager.
const RivalManager = "kube-controller-manager"

// Observe takes an object whose managed fields are still there. It reports
// whether the rival was noticed, now or before.
func (r *Rival) Observe(object metav1.Object) bool {
	if r == nil {
		return false
	}
	if r.wrote(object.GetManagedFields()) && !r.warned.Swap(true) {
		r.Logger.Info("WARNING: "+r.Warning, "namespace", object.GetNamespace(), "name", object.GetName())
	}
	return r.warned.Load()
}

// wrote reports whether the rival has written the field since we started.
func (r *Rival) wrote(fields []metav1.ManagedFieldsEntry) bool {
	for i := range fields {
		f := &fields[i]
		if f.Manager == RivalManager && f.Time != nil && f.Time.After(r.Since) && f.FieldsV1 != nil &&
			strings.Contains(string(f.FieldsV1.Raw), `"`+r.Field+`"`) {
			return true
		}
	}
	return false
}
