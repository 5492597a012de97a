package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/config"
	"sandboxd/files/store"
	"sandboxd/ipc"
	"sandboxd/notify"
	"sandboxd/sandbox"
	"sandboxd/supervisor"
	"sandboxd/supervisor/aftermath"
)

// homeDir is the home directory of the password database; HOME is not asked.
func homeDir() (string, error) {
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		return "", fmt.Errorf("find the home directory of user %d: %w; add the user to the password database, or run "+
			"sandboxd as another one", os.Geteuid(), err)
	}
	return u.HomeDir, nil
}

// serve opens everything the daemon needs, serves until ctx ends or there is
// nothing left to do, and closes it again.
func serve(ctx context.Context, f flags, stderr io.Writer) error {
	syscall.Umask(0o077)
	if err := notDumpable(); err != nil {
		return err
	}
	if err := enoughDescriptors(); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	paths, err := configPaths(f.config)
	if err != nil {
		return err
	}
	cfg, warnings, err := config.Load(paths)
	if err != nil {
		return err
	}
	warnings = append(warnings, overruled(f, cfg)...)
	for _, w := range warnings {
		log.Warn(w.Text, "where", w.Origin.String())
	}
	dirs, err := openDirs(f, cfg)
	if err != nil {
		return err
	}
	host, err := openHost(ctx, cfg)
	if err != nil {
		return err
	}
	defer host.Close()
	if err := checkRequired(cfg, host, log); err != nil {
		return err
	}
	journal, noJournal := openJournal(cfg, log)
	if journal != nil {
		defer journal.Close()
	}
	counts := newMetrics()
	auditLog, err := openAudit(cfg, dirs, mirror(counts, journal))
	if err != nil {
		return err
	}
	defer auditLog.Close()
	programs := &rulePrograms{}
	controller, err := approval.New(approval.Options{Rules: []approval.Rule{programs},
		Config: cfg.Approval, Store: approval.NewFileStore(dirs.inState("grants.json")),
		MaxPendingPrincipal: cfg.Daemon.Pending})
	if err != nil {
		return err
	}
	defer closeController(controller)
	if err := startMode(controller, f.mode, cfg); err != nil {
		return err
	}
	sup, err := openSupervisor(supervisor.Options{Host: host, Approval: controller, Audit: auditLog, Config: cfg,
		Paths: paths}, dirs, log)
	if err != nil {
		return err
	}
	programs.config = sup.Config
	sockets, err := openListeners(dirs.sockets, f.metrics)
	if err != nil { // the start is on record
		return errors.Join(err, sup.Shutdown(context.Background()))
	}
	defer sockets.close()
	service, err := newService(log)
	if err != nil {
		return errors.Join(err, sup.Shutdown(context.Background()))
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	patient, endNow := context.WithCancel(context.Background())
	defer endNow()
	b := &backend{sup: sup, notices: notify.New(controller, func() notify.Config { return sup.Config().Notify }),
		patient: patient, endNow: endNow, approvals: controller, audit: auditLog, journal: journal, noJournal: noJournal,
		dirs: dirs, flags: f, began: cfg, warnings: warnings, started: time.Now(), shutdown: cancel,
		drain: time.Duration(cfg.Daemon.DrainTimeout), idle: time.Duration(cfg.Daemon.IdleTimeout)}
	if f.idleSet {
		b.idle = f.idle
	}
	server, err := b.open(ctx, sockets, counts, log)
	if err != nil {
		return err
	}
	log.Info("serving", "sockets", sockets.String(), "state", dirs.state, "enforcement", host.Report().Level())
	return b.serve(ctx, server, service, log)
}

// open starts the background work of the daemon, and returns the server of its sockets.
func (b *backend) open(ctx context.Context, sockets listeners, counts *metrics, log *slog.Logger) (*ipc.Server, error) {
	go b.notices.Run(ctx)
	go b.flushGrants(ctx)
	go b.leaveWhenIdle(ctx, b.shutdown)
	go leaveWhenLost(ctx, sockets.own, b.shutdown, log)
	go b.rest(ctx)
	agent, approver, err := b.serveLaunchers(ctx, sockets.launcher, log)
	if err != nil {
		return nil, err
	}
	counts.watch(b)
	serveMetrics(ctx, counts.registry, sockets.metrics, log)
	if b.gateway, err = openGateway(b.began, b, log); err != nil {
		return nil, err
	}
	return &ipc.Server{Backend: b, Agent: append(sockets.agent, agent...),
		Approver: append(sockets.approver, approver...), Stdio: sockets.stdio, Log: log}, nil
}

// serve answers requests until ctx ends, the service manager has the daemon end, or the sockets fail.
func (b *backend) serve(ctx context.Context, server *ipc.Server, service *service, log *slog.Logger) error {
	serving, stopServing := context.WithCancel(context.Background())
	defer stopServing()
	served := make(chan error, 1)
	go func() { served <- b.serveWithGateway(serving, server) }()
	debug.FreeOSMemory() // of the start
	loop := mainLoop{service: service, failed: served, alive: b.alive, status: b.statusLine, reload: b.reload,
		drain: func() error {
			// Running commands end, and their last events go out, before the sockets close.
			err := b.drainCommands()
			stopServing()
			return errors.Join(err, <-served)
		}}
	err := loop.run(ctx)
	b.tellHead(log) // the record of the stop, too
	return err
}

func openAudit(cfg *config.Config, dirs dirs, mirror func(audit.Mirrored)) (*audit.Log, error) {
	log, err := audit.Open(dirs.audit, audit.Options{RotateSize: int64(cfg.Audit.RotateSize), Keep: cfg.Audit.Keep,
		DigestKey: dirs.inState("digest.key"), Exclude: cfg.Audit.ExcludeKeys, Mirror: mirror})
	if errors.Is(err, audit.ErrLocked) {
		return nil, fmt.Errorf("%w: a daemon with this state directory runs already; sbx stop, with the --socket-dir of "+
			"that one, ends it; or choose another --state-dir", err)
	}
	if errors.Is(err, syscall.EISDIR) {
		return nil, fmt.Errorf("%w; move it away, and the log goes on without it", err)
	}
	return log, err
}

// openSupervisor opens the supervisor's state and returns one with the rest of its options.
func openSupervisor(o supervisor.Options, dirs dirs, log *slog.Logger) (*supervisor.Supervisor, error) {
	var err error
	if o.Trust, err = supervisor.OpenTrust(dirs.inState("trust.json")); err != nil {
		return nil, err
	}
	if o.Settings, err = supervisor.OpenSettings(dirs.inState("settings.json")); err != nil {
		return nil, err
	}
	if o.Undo, err = store.Open(dirs.state, store.Options{
		KeepFor: o.Config.Files.Undo.KeepFor, KeepBytes: o.Config.Files.Undo.KeepBytes}); err != nil {
		return nil, err
	}
	for _, w := range o.Undo.Damaged() {
		log.Warn("a change can't be undone", "why", w)
	}
	if o.Notes, err = aftermath.OpenNotes(dirs.inState("running")); err != nil {
		return nil, err
	}
	if o.Worker, err = os.Executable(); err != nil {
		return nil, err
	}
	o.Own, o.AgentSocket = dirs.own(o.Paths), filepath.Join(dirs.sockets, ipc.AgentSocket)
	o.Trash, o.Layers, o.Places = dirs.inState("trash"), dirs.inState("layers"), dirs.inState("places")
	o.Created = dirs.inState("created")
	return supervisor.New(o)
}

// minDescriptors is the most descriptors that a daemon with a few commands at a time has open.
const minDescriptors = 256

// enoughDescriptors returns why this process can't have as many files open as it needs.
// The soft limit is the hard one by now (package os).
func enoughDescriptors() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return os.NewSyscallError("getrlimit RLIMIT_NOFILE", err)
	}
	if l.Cur < minDescriptors {
		return fmt.Errorf("at most %d files may be open here, and sandboxd needs %d: raise the hard limit (ulimit -Hn of "+
			"the shell that starts it, nofile in /etc/security/limits.conf, LimitNOFILE= of a unit)", l.Cur, minDescriptors)
	}
	return nil
}

func closeController(c *approval.Controller) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c.Close(ctx)
}

func openHost(ctx context.Context, cfg *config.Config) (*sandbox.Host, error) {
	stage, err := sandbox.StagePath()
	if err != nil {
		return nil, err
	}
	return sandbox.Open(ctx, sandbox.Options{Stage: stage, Warm: cfg.Sandbox.Warm, Backend: cfg.Sandbox.Backend})
}

// checkRequired refuses to start where the configuration wants that, and reports
// missing protections in any case (R-OS-05).
func checkRequired(cfg *config.Config, host *sandbox.Host, log *slog.Logger) error {
	report := host.Report()
	for _, line := range report.Degraded() {
		log.Warn("degraded", "what", line)
	}
	unmet := report.Unmet(supervisor.Required(cfg.Sandbox.RequireOSSandbox))
	if len(unmet) == 0 || cfg.Sandbox.OSSandboxFallback != "fail_fast" {
		return nil
	}
	return fmt.Errorf("%w; set [sandbox] os_sandbox_fallback = \"refuse_tools\" to start nevertheless and refuse every "+
		"command, or change require_os_sandbox", &sandbox.UnenforcedError{Unmet: unmet})
}

// startMode puts the mode of the command line into force. approve-all comes
// from the person that starts the daemon and ends by itself (R-AP-18).
func startMode(c *approval.Controller, mode string, cfg *config.Config) error {
	switch mode {
	case "approve-all":
		by := approval.Identity{Principal: approval.Principal{UID: os.Geteuid()}, Name: "sandboxd --mode approve-all",
			Operator: true}
		return c.ApproveAll(by, approval.MaxApproveAll)
	case "interactive", "strict":
		a := cfg.Approval
		a.Mode = approval.Mode(mode)
		return c.Configure(a)
	}
	return nil
}

// mirror counts records, and passes them on to the journal, where there is one.
func mirror(counts *metrics, journal *audit.Journal) func(audit.Mirrored) {
	return func(m audit.Mirrored) {
		counts.observe(m)
		if journal != nil {
			journal.Mirror(m)
		}
	}
}
