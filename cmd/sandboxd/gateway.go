package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"

	"sandboxd/approval/answerer"
	"sandboxd/config"
	"sandboxd/gateway"
	"sandboxd/ipc"
)

// openGateway listens where [gateway] listen says; nil where it says nothing.
func openGateway(cfg *config.Config, b *backend, log *slog.Logger) (*gateway.Gateway, error) {
	if cfg.Gateway.Listen == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", cfg.Gateway.Listen)
	if err != nil {
		return nil, fmt.Errorf("[gateway] listen: %w", err)
	}
	g, err := gateway.New(gateway.Options{Backend: b, Listener: l, Origins: cfg.Gateway.Origins,
		Store: filepath.Join(b.dirs.state, "front-ends.json"), Log: log, Related: b.relatedTo})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	log.Info("gateway", "address", g.URL())
	return g, nil
}

// serveWithGateway serves the sockets, and the gateway where there is one; if
// either fails, both end.
func (b *backend) serveWithGateway(ctx context.Context, server *ipc.Server) error {
	if b.gateway == nil {
		return server.Serve(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	gated := make(chan error, 1)
	go func() {
		defer cancel()
		gated <- b.gateway.Serve(ctx)
	}()
	err := server.Serve(ctx)
	cancel()
	return errors.Join(err, <-gated)
}

// relatedTo returns the tie that keeps the process behind a front end from answering a question, "" for none.
func (b *backend) relatedTo(p ipc.Peer, id string) string {
	e := b.sup.ExecAsking(id)
	if e == nil {
		return ""
	}
	return string(answerer.RelatedFront(treeOf(p), observed(e.Peer), observed(e.Session.Peer)))
}

// gate is the gateway, or why there is none.
func (b *backend) gate() (*gateway.Gateway, error) {
	if listen := b.sup.Config().Gateway.Listen; b.gateway == nil && listen != "" {
		return nil, &ipc.Error{Code: ipc.CodeConflict, Hint: "sbx stop",
			Message: fmt.Sprintf("the gateway is off until the daemon starts again with [gateway] listen = %q", listen)}
	}
	if b.gateway == nil {
		return nil, &ipc.Error{Code: ipc.CodeConflict, Message: "the gateway is off",
			Hint: "put [gateway] listen = \"127.0.0.1:0\" into ~/.config/sandboxd/config.toml, and start the daemon again: " +
				"sbx stop"}
	}
	return b.gateway, nil
}

func (b *backend) Invite(_ context.Context, c ipc.Caller) (ipc.Invitation, error) {
	g, err := b.gate()
	if err != nil {
		return ipc.Invitation{}, err
	}
	return g.Invite(c.Peer)
}

func (b *backend) FrontEnds(_ context.Context, c ipc.Caller) (ipc.FrontEndList, error) {
	g, err := b.gate()
	if err != nil {
		return ipc.FrontEndList{}, err
	}
	return ipc.FrontEndList{FrontEnds: g.FrontEnds(c.Peer.UID)}, nil
}

func (b *backend) AddFrontEnd(_ context.Context, c ipc.Caller, r ipc.FrontEndRequest) (ipc.FrontEnd, error) {
	g, err := b.gate()
	if err != nil {
		return ipc.FrontEnd{}, err
	}
	if r.Role == "" {
		r.Role = ipc.FrontEndApprover
	}
	return g.AddFrontEnd(c.Peer, r)
}

func (b *backend) RemoveFrontEnd(_ context.Context, c ipc.Caller, r ipc.FrontEndName) error {
	g, err := b.gate()
	if err != nil {
		return err
	}
	return g.RemoveFrontEnd(c.Peer.UID, r.Name)
}
