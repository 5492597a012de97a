package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os/user"
	"strconv"
	"sync"
	"time"

	"sandboxd/broker"
	"sandboxd/ipc"
)

// explainFor is how long a daemon that cannot start answers with the reason. The
// service manager counts starts: one that fails at once would be tried until
// the socket is given up.
const explainFor = 3 * time.Second

// explain reports to clients of the sockets that the service manager passed
// why the daemon does not start (R-OP-02).
func explain(why error, log *slog.Logger) {
	d, passed, err := passedListeners()
	if !passed || err != nil {
		return
	}
	defer d.close()
	ctx, cancel := context.WithTimeout(context.Background(), explainFor)
	defer cancel()
	all := append(d.agent, d.approver...)
	account, err := user.Lookup(broker.Account)
	for _, one := range d.launcher {
		u, ok := one.(*net.UnixListener)
		if !ok || err != nil {
			continue
		}
		none := func() error { return why }
		l := &broker.Launcher{Listener: u, Reload: none, Stop: cancel, Log: log,
			From: func(uid int) bool { return uid == 0 || strconv.Itoa(uid) == account.Uid }}
		all = append(all, l.Agent(), l.Approver())
		go l.Serve(ctx)
	}
	body, _ := json.Marshal(map[string]*ipc.Error{"error": {Code: ipc.CodeInternal, Message: "sandboxd does not start: " +
		why.Error(),
		Hint: "sandboxd config check; journalctl --user -u sandboxd-launcher"}})
	server := &http.Server{ReadHeaderTimeout: explainFor,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusServiceUnavailable)
			w.Write(body)
		})}
	var serving sync.WaitGroup
	for _, l := range all {
		serving.Go(func() { server.Serve(l) })
	}
	<-ctx.Done()
	server.Close()
	serving.Wait()
}
