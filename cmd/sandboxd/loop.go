package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// service notifies the service manager (sd_notify(3)). Without a
// service manager telling it is no more than a line in the log.
type service struct {
	log      *slog.Logger
	watchdog time.Duration // how often we must show that we live; 0: never
}

func newService(log *slog.Logger) (*service, error) {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return nil, fmt.Errorf("watchdog of the service manager: %w", err)
	}
	return &service{log: log, watchdog: every / 3}, nil
}

func (s *service) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("the service manager was not notified", "what", state, "error", err)
	}
}

func (s *service) ready(status string)  { s.notify(daemon.SdNotifyReady + "\nSTATUS=" + status) }
func (s *service) status(status string) { s.notify("STATUS=" + status) }
func (s *service) stopping(status string) {
	s.notify(daemon.SdNotifyStopping + "\nSTATUS=" + status)
}

// reloading is sent before a reload, and ready after it.
func (s *service) reloading() {
	s.notify(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// beat is the watchdog's ticker; it never ticks where none is wanted.
func (s *service) beat() (<-chan time.Time, func()) {
	if s.watchdog <= 0 {
		return nil, func() {}
	}
	t := time.NewTicker(s.watchdog)
	return t.C, t.Stop
}

// mainLoop is the daemon's work beside serving requests.
type mainLoop struct {
	service *service
	// alive takes the locks that every request takes: where one of them is
	// never given back, the loop blocks and the watchdog ends the daemon.
	alive  func()
	status func() string
	// reload is asked for by SIGHUP.
	reload func() error
	// drain ends the work in progress; the watchdog is fed meanwhile.
	drain  func() error
	failed <-chan error // the early end of serving
}

// statusEvery is how often the service manager gets a new status line.
const statusEvery = 10 * time.Second

// run returns when ctx has ended and everything was drained, or when serving
// has failed.
func (m *mainLoop) run(ctx context.Context) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	beat, stop := m.service.beat()
	defer stop()
	line := time.NewTicker(statusEvery)
	defer line.Stop()
	refused := "" // the last reload's error, until one succeeds
	status := func() string { return cmp.Or(refused, m.status()) }
	last := status()
	m.service.ready(last)
	for {
		select {
		case err := <-m.failed:
			return err
		case <-beat:
			m.alive()
			m.service.notify(daemon.SdNotifyWatchdog)
		case <-line.C:
			if now := status(); now != last {
				m.service.status(now)
				last = now
			}
		case <-hup:
			m.service.reloading()
			if err := m.reload(); err != nil {
				m.service.log.Error("the old configuration stays in force", "error", err)
				refused = "the old configuration is in force: " + oneLine(err)
			} else {
				m.service.log.Info("configuration reloaded")
				refused = ""
			}
			last = status()
			m.service.ready(last)
		case <-ctx.Done():
			return m.stop(beat)
		}
	}
}

func (m *mainLoop) stop(beat <-chan time.Time) error {
	m.service.stopping("stopping: " + m.status())
	drained := make(chan error, 1)
	go func() { drained <- m.drain() }()
	for {
		select {
		case err := <-drained:
			return err
		case <-beat:
			m.service.notify(daemon.SdNotifyWatchdog)
		}
	}
}

// oneLine is an error for a status line.
func oneLine(err error) string {
	b := []byte(err.Error())
	for i, c := range b {
		if c == '\n' {
			b[i] = ' '
		}
	}
	return string(b)
}
