//go:build !linux

package main

import "log/slog"

func explain(error, *slog.Logger) {}
