package process

import (
	"flag"
	"io"
	"math"
	"strconv"

	logsapi "k8s.io/component-base/logs/api/v1"
	logsjson "k8s.io/component-base/logs/json"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// setLogging sets how much is logged, and how. Text goes to standard error,
// JSON to the writer. Like klog's, the setting is one of the whole process.
func setLogging(p *commandline.Process, out io.Writer) {
	setVerbosity(p.Verbosity)
	if p.LoggingFormat != commandline.LoggingJSON {
		return
	}
	// The levels of the encoder are one byte, and a larger one would log nothing.
	config := logsapi.NewLoggingConfiguration()
	config.Verbosity = logsapi.VerbosityLevel(min(p.Verbosity, math.MaxInt8))
	logger, control := logsjson.Factory{}.Create(*config, logsapi.LoggingOptions{ErrorStream: out})
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true), klog.FlushLogger(control.Flush))
}

// setVerbosity sets what calls of klog itself depend on, client-go's for
// example.
func setVerbosity(v int) {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	if err := flags.Set("v", strconv.Itoa(v)); err != nil {
		klog.Background().Error(err, "Set log verbosity")
	}
}
