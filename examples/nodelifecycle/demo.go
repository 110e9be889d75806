package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/pflag"
)

func demonstrate(context.Context, *pflag.FlagSet, io.Writer) error { return errors.New("no demo yet") }
