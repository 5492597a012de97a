package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sandboxd/broker"
)

// runBroker is `sandboxd broker`, which the system's service manager starts,
// `sandboxd broker stop-users`, which ends every user's daemon as planned, and
// `sandboxd broker new-key`, which prints a key for signing heads.
func runBroker(args []string, stdout, stderr io.Writer) int {
	log := slog.New(slog.NewTextHandler(stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	b := &broker.Broker{UsersDir: broker.UsersDir, HeadsDir: broker.HeadsDir, Log: log}
	var err error
	switch {
	case len(args) == 0:
		err = serveBroker(ctx, b)
	case len(args) == 1 && args[0] == "stop-users":
		err = stopUsers(ctx, b)
	case len(args) == 1 && args[0] == "new-key":
		var key []byte
		if key, err = broker.NewKey(); err == nil {
			_, err = stdout.Write(key)
		}
	default:
		return misuse(stderr, "sandboxd broker: want nothing, stop-users or new-key, not %q", strings.Join(args, " "))
	}
	if err != nil {
		fmt.Fprintln(stderr, "sandboxd broker:", err)
		return 1
	}
	return 0
}

// stopUsers ends every user's daemon as planned.
func stopUsers(ctx context.Context, b *broker.Broker) error {
	if err := b.Confine(); err != nil {
		return err
	}
	for uid, err := range b.Stop(ctx) {
		b.Log.Warn("not stopped", "user", uid, "error", err)
	}
	return nil
}

func serveBroker(ctx context.Context, b *broker.Broker) error {
	syscall.Umask(0o077)
	if err := notDumpable(); err != nil {
		return err
	}
	d, passed, err := passedListeners()
	switch {
	case err != nil:
		return err
	case !passed || len(d.agent) == 0 || len(d.approver) == 0 || len(d.launcher) > 0:
		return fmt.Errorf("the broker serves the sockets that the service manager passes: %q and %q; systemctl start "+
			"sandboxd.socket", broker.AgentName, broker.ApproverName)
	}
	if err := os.MkdirAll(b.HeadsDir, 0o755); err != nil {
		return fmt.Errorf("make the directory of heads: %w", err)
	}
	if err := readKey(b); err != nil {
		return err
	}
	if err := b.Confine(); err != nil {
		return err
	}
	b.Agent, b.Approver, b.Heads = d.agent, d.approver, d.heads
	service, err := newService(b.Log)
	if err != nil {
		return err
	}
	serveMetrics(ctx, brokerMetrics(b), d.metrics, b.Log)
	serving, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- b.Serve(serving) }()
	loop := mainLoop{service: service, failed: served, alive: func() { b.Alive() },
		status: func() string {
			handed, refused := b.Counts()
			return fmt.Sprintf("handed %d connections to their users' daemons, refused %d", handed, refused)
		},
		reload: func() error { return reloadUsers(ctx, b) },
		drain: func() error {
			stop()
			return <-served
		}}
	return loop.run(ctx)
}

// keyCredential is the name under which the service manager passes the key that
// signs heads (LoadCredential= in the unit).
const keyCredential = "sandboxd.heads-key"

// readKey reads the key, if the service manager passes one. An unreadable key ends
// the start: the administrator that made it wants signatures.
func readKey(b *broker.Broker) error {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return nil
	}
	name := filepath.Join(dir, keyCredential)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		b.Key, err = broker.ParseKey(text)
	}
	if err == nil {
		err = b.PublishKey()
	}
	if err != nil {
		return fmt.Errorf("credential %q, the key that signs heads: %w", name, err)
	}
	return nil
}

// reloadUsers checks the operator's configuration and has every user's daemon
// read it. Each of them takes it whole or not at all.
func reloadUsers(ctx context.Context, b *broker.Broker) error {
	var failed []string
	for uid, err := range b.Reload(ctx) {
		failed = append(failed, fmt.Sprintf("user %d: %v", uid, err))
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s", strings.Join(failed, "; "))
	}
	return nil
}

func brokerMetrics(b *broker.Broker) *prometheus.Registry {
	r := prometheus.NewRegistry()
	count := func(name, help string, f func() float64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, f))
	}
	count("sandboxd_broker_handed_total", "Connections that were handed over.",
		func() float64 { n, _ := b.Counts(); return float64(n) })
	count("sandboxd_broker_refused_total", "Connections that were not handed over.",
		func() float64 { _, n := b.Counts(); return float64(n) })
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sandboxd_broker_users",
		Help: "Users with a launcher."},
		func() float64 { return float64(len(b.Users())) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}
