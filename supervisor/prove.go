package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"sandboxd/audit"
	"sandboxd/profile"
	"sandboxd/profile/document"
	"sandboxd/sandbox"
)

// Finding is one protection, proved by attempting the forbidden act.
type Finding struct {
	Name           string
	OK, Proved     bool
	Detail, Remedy string
	Took           time.Duration
}

// act is one forbidden act: a script that runs inside and a check from outside.
type act struct {
	name   string
	script string
	linux  bool // the attempt uses features of Linux alone
	// held checks the script's output and the host; it returns the
	// failure, "" for none.
	held func(out string) string
	// ends is the limit that may end the script, where the host has no control group that refuses the act.
	ends sandbox.EndCause
}

// tried is a script's output after its attempt.
const tried = "TRIED"

// Prove attempts, inside a real sandbox, the act that each protection forbids.
// It makes the files that it needs on the host in the state directory and removes them again.
func (s *Supervisor) Prove(ctx context.Context, peer Peer) ([]Finding, error) {
	name, home, err := account(peer.UID)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.stateDir(), "doctor-")
	if err != nil {
		return nil, fmt.Errorf("prepare the proof: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "canary"), []byte("CANARY\n"), 0o644); err != nil {
		return nil, fmt.Errorf("prepare the proof: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("prepare the proof: %w", err)
	}
	defer listener.Close()
	victim := exec.CommandContext(ctx, "/bin/sleep", "60")
	if err := victim.Start(); err != nil {
		return nil, fmt.Errorf("prepare the proof: %w", err)
	}
	defer func() { victim.Process.Kill(); victim.Wait() }()

	cfg := s.Config()
	sess := &Session{ID: "doctor", Peer: peer, Home: home, User: name}
	tools, err := s.tools(cfg, sess, false, "", s.linksOf(cfg, sess))
	if err != nil {
		return nil, err
	}
	tools.Roots, tools.Read, tools.Write = nil, nil, nil
	tools.Limits.Wall, tools.Limits.Processes = proofTime, 64
	p, err := document.Derive(tools)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, a := range acts(dir, home, listener.Addr().(*net.TCPAddr).Port, victim, tools.Daemon) {
		if a.linux && runtime.GOOS != "linux" {
			findings = append(findings, Finding{Name: a.name, OK: true, Detail: "there is no attempt for " + runtime.GOOS})
			continue
		}
		start := time.Now()
		out, cause, err := s.proveOne(ctx, sess, p, a.script)
		f := Finding{Name: a.name, Took: time.Since(start)}
		switch {
		case err != nil:
			f.Detail, f.Remedy = "could not be tried: "+err.Error(), "sbx doctor shows which layers are missing"
		default:
			f.Proved = true
			if a.ends != "" && cause == a.ends {
				f.OK, f.Detail = true, "tried inside, and ended by its limit"
				break
			}
			f.Detail = a.held(out)
			if f.OK = f.Detail == ""; f.OK {
				f.Detail = "tried inside, and refused"
			}
		}
		findings = append(findings, f)
	}
	ok := true
	for _, f := range findings {
		ok = ok && f.OK
	}
	return findings, s.record(audit.Record{Category: audit.Config, Operation: "prove", Peer: auditPeer(peer),
		Detail: map[string]string{"all_held": fmt.Sprint(ok)}})
}

// stateDir is the daemon's own directory.
func (s *Supervisor) stateDir() string { return filepath.Dir(s.Audit.Dir()) }

func acts(dir, home string, port int, victim *exec.Cmd, daemon []string) []act {
	canary := filepath.Join(dir, "canary")
	probe := "/etc/sandboxd-doctor-" + filepath.Base(dir)
	absent := func(word string) func(string) string {
		return func(out string) string {
			if strings.Contains(out, word) {
				return "it succeeded: " + strings.TrimSpace(out)
			}
			if !strings.Contains(out, tried) {
				return "the attempt did not run: " + strings.TrimSpace(out)
			}
			return ""
		}
	}
	var paths strings.Builder
	for _, p := range daemon {
		fmt.Fprintf(&paths, " '%s'", strings.ReplaceAll(p, "'", `'\''`))
	}
	return []act{
		{name: sandbox.ProtectFiles, script: "touch " + probe + " && echo GOT; echo TRIED", held: func(out string) string {
			if _, err := os.Lstat(probe); err == nil {
				os.Remove(probe)
				return "a file was made in /etc"
			}
			return absent("GOT")(out)
		}},
		{name: sandbox.ProtectHidden, held: absent("CANARY"),
			script: fmt.Sprintf("cat '%s'; ls -A '%s/.ssh' && echo CANARY; echo TRIED", canary, home)},
		{name: "daemon", held: absent("GOT"),
			script: "for p in" + paths.String() + "; do ls -d \"$p\"/* && echo GOT; done; echo TRIED"},
		{name: sandbox.ProtectNetwork, held: absent("GOT"),
			script: fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d && echo GOT; echo TRIED", port)},
		{name: sandbox.ProtectProcesses, script: fmt.Sprintf("kill -9 %d && echo GOT; echo TRIED", victim.Process.Pid),
			held: func(out string) string {
				// Signal 0 asks whether it is still there (kill(2)).
				if victim.Process.Signal(syscall.Signal(0)) != nil {
					return "a process of the host was killed"
				}
				if !strings.Contains(out, tried) {
					return "the attempt did not run"
				}
				return ""
			}},
		{name: sandbox.ProtectSyscalls, linux: true, held: absent("GOT"),
			script: "unshare -Ur true && echo GOT; mount -t tmpfs none /mnt && echo GOT; echo TRIED"},
		{name: sandbox.ProtectPrivileges, linux: true, script: "cat /proc/self/status; echo TRIED",
			held: func(out string) string {
				for _, want := range []string{"CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
					if !strings.Contains(out, want) {
						return want + " does not hold"
					}
				}
				return absent("\x00")(out)
			}},
		// sh, not bash, which tries a refused fork again for seconds. Where processes are watched, the limit may be
		// exceeded for a moment: then it sleeps until the limit ends it.
		{name: sandbox.ProtectLimits, linux: true, ends: sandbox.EndProcesses, held: func(out string) string {
			if n := strings.Count(out, "UP"); n >= 200 {
				return fmt.Sprintf("%d processes were made where 64 are allowed", n)
			}
			return absent("\x00")(out)
		}, script: "sh -c 'n=0; while [ $n -lt 200 ]; do sleep 60 > /dev/null 2>&1 & n=$((n+1)); echo UP; done; " +
			"sleep 5'; echo TRIED"},
	}
}

// proofTime bounds one attempt; an emulated machine takes more than 10 s for some.
const proofTime = 30 * time.Second

// proveOne runs one script in a sandbox of the profile and returns its output and the limit that ended it, if one did.
func (s *Supervisor) proveOne(
	ctx context.Context, sess *Session, p profile.Profile, script string,
) (string, sandbox.EndCause, error) {
	plan, err := s.Host.Plan(sandbox.Request{Profile: p, Command: sandbox.Command{
		Argv: []string{"bash", "--noprofile", "--norc", "-c", script}, Path: shellPath(), Dir: "/",
		Env: []string{"PATH=" + searchPath, "HOME=" + sess.Home, "LANG=C"}}})
	if err != nil {
		return "", "", err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return "", "", err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return "", "", err
	}
	defer r.Close()
	proc, err := s.Host.Start(ctx, plan, sandbox.Stdio{In: null, Out: w, Err: w}, nil)
	w.Close()
	if err != nil {
		return "", "", err
	}
	timer := time.AfterFunc(proofTime, func() { proc.End(sandbox.EndWall, 0) })
	defer timer.Stop()
	var out bytes.Buffer
	io.Copy(&out, io.LimitReader(r, 1<<20))
	proc.End(sandbox.EndCancelled, 0)
	return out.String(), proc.Wait().Cause, nil
}
