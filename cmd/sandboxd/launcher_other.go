//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
)

var errNoBroker = errors.New("the broker is for systems with systemd")

func (b *backend) serveLaunchers(_ context.Context, list []net.Listener, _ *slog.Logger) (
	agent, approver []net.Listener, err error) {
	if len(list) > 0 {
		return nil, nil, errNoBroker
	}
	return nil, nil, nil
}

func (b *backend) tellHead(*slog.Logger) {}

func answersForOthers(int) bool { return false }

func runBroker(_ []string, _, stderr io.Writer) int {
	io.WriteString(stderr, "sandboxd: "+errNoBroker.Error()+"\n")
	return 1
}
