package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"

	"sandboxd/broker"
)

// serveLaunchers takes the connections that the system's broker hands over, and
// reports the head of the log to the broker. It returns listeners for them.
func (b *backend) serveLaunchers(ctx context.Context, list []net.Listener, log *slog.Logger) (
	agent, approver []net.Listener, err error) {
	if len(list) == 0 {
		return nil, nil, nil
	}
	account, err := user.Lookup(broker.Account)
	if err != nil {
		return nil, nil, fmt.Errorf("the broker's user: %w", err)
	}
	for _, one := range list {
		u, ok := one.(*net.UnixListener)
		if !ok {
			return nil, nil, fmt.Errorf("socket %q is not a Unix socket", one.Addr())
		}
		l := &broker.Launcher{Listener: u, Reload: b.reload, Stop: b.shutdown, Log: log,
			From: func(uid int) bool { return uid == 0 || strconv.Itoa(uid) == account.Uid }}
		agent, approver = append(agent, l.Agent()), append(approver, l.Approver())
		go func() {
			if err := l.Serve(ctx); err != nil {
				log.Error("reading from the broker failed", "error", err)
				b.shutdown()
			}
		}()
	}
	b.mu.Lock()
	b.brokered = true
	b.mu.Unlock()
	go every(ctx, headsEvery, func() { b.tellHead(log) })
	return agent, approver, nil
}

// headsEvery is how many seconds of records a cut tail can hide from the
// broker's heads.
const headsEvery = 5 * time.Second

// tellHead sends the broker the last record, where there is a broker and a new
// record.
func (b *backend) tellHead(log *slog.Logger) {
	head := b.audit.Head()
	b.mu.Lock()
	silent := !b.brokered || b.reported == head.Seq
	b.mu.Unlock()
	if silent {
		return
	}
	err := broker.TellHead(broker.HeadsSocket, head.Seq, head.Hash)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.reported = head.Seq
	}
	if (err == nil) != (b.untold == nil) {
		log.Warn("head of the log", "told", err == nil, "error", err)
	}
	b.untold = err
}

// answersForOthers reports whether a user is in the group that may answer
// everybody's questions. Only the broker lets such a user in.
func answersForOthers(uid int) bool {
	group, err := user.LookupGroup(broker.Approvers)
	if err != nil {
		return false
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return false
	}
	ids, err := u.GroupIds()
	return err == nil && slices.Contains(ids, group.Gid) && uid != os.Geteuid()
}
