package main

import (
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"

	"sandboxd/broker"
	"sandboxd/ipc"
)

// listeners are the sockets that the daemon serves: those that the service manager
// passed (sd_listen_fds(3)), or its own.
type listeners struct {
	agent, approver, metrics []net.Listener
	stdio                    []net.Listener // for passed descriptors
	launcher, heads          []net.Listener
	own                      *ipc.Sockets // nil: the service manager's
}

// stdioName is the FileDescriptorName= of the socket for passed descriptors.
// The broker has none: it relays the streams of its users.
const stdioName = "stdio"

// passedListeners are the service manager's; false where it passed none. Each has a
// name (FileDescriptorName=), and one that nobody knows is an error: it would
// look as if it were served.
func passedListeners() (listeners, bool, error) {
	files := activation.Files(true)
	var d listeners
	places := map[string]*[]net.Listener{broker.AgentName: &d.agent, broker.ApproverName: &d.approver,
		broker.MetricsName: &d.metrics, stdioName: &d.stdio,
		broker.LauncherName: &d.launcher, broker.HeadsName: &d.heads}
	for _, f := range files {
		to, ok := places[f.Name()]
		if !ok {
			return d, true, fmt.Errorf("the service manager passed a socket named %q; want FileDescriptorName=agent, "+
				"approver, stdio, launcher, heads or metrics", f.Name())
		}
		l, err := net.FileListener(f)
		f.Close()
		if err != nil {
			return d, true, fmt.Errorf("socket %q of the service manager: %w", f.Name(), err)
		}
		*to = append(*to, l)
	}
	return d, len(files) > 0, nil
}

// openListeners takes the passed sockets, or makes our own in dir.
func openListeners(dir, metrics string) (listeners, error) {
	d, passed, err := passedListeners()
	switch {
	case err != nil:
		return d, err
	case passed && len(d.agent)+len(d.launcher) == 0:
		return d, fmt.Errorf("the service manager passed no socket named %q or %q", broker.AgentName, broker.LauncherName)
	case passed && len(d.heads) > 0:
		return d, fmt.Errorf("the socket %q is the broker's", broker.HeadsName)
	}
	if !passed {
		if d.own, err = ipc.Listen(ipc.SocketDir{Path: dir}); err != nil {
			return d, err
		}
		d.agent, d.approver, d.stdio = []net.Listener{d.own.Agent}, []net.Listener{d.own.Approver},
			[]net.Listener{d.own.Stdio}
	}
	if metrics != "" {
		l, err := listenMetrics(metrics)
		if err != nil {
			d.close()
			return d, err
		}
		d.metrics = append(d.metrics, l)
	}
	return d, nil
}

// listenMetrics makes the socket for /metrics, for this user alone. A stale one
// is replaced.
func listenMetrics(path string) (net.Listener, error) {
	if fi, err := os.Lstat(path); err == nil && fi.Mode().Type() == os.ModeSocket {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return nil, fmt.Errorf("listen on %q: somebody serves it already", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path) // 0600: the umask is ours
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w; name a socket in a directory that is there and yours", err)
	}
	return l, nil
}

func (d *listeners) close() {
	if d.own != nil {
		d.own.Close()
	}
	for _, list := range [][]net.Listener{d.agent, d.approver, d.stdio, d.launcher, d.heads, d.metrics} {
		for _, l := range list {
			l.Close()
		}
	}
}

// String lists the addresses.
func (d *listeners) String() string {
	var list []string
	for _, l := range append(append(append([]net.Listener{}, d.agent...), d.approver...), d.launcher...) {
		list = append(list, l.Addr().String())
	}
	return strings.Join(list, " ")
}
