package external

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"sandboxd/approval"
)

// defaultTimeout is how long a program may take where nothing else is said.
const defaultTimeout = 2 * time.Second

// maxOutput bounds a program's output on each stream.
const maxOutput = 64 << 10

// Program is a rule that asks an external program. It is safe for concurrent use.
type Program struct {
	// Path is absolute and no link is in it; PATH is not searched.
	Path string
	Args []string
	// Timeout bounds one run; 0 is defaultTimeout.
	Timeout time.Duration
	// Env is added to PATH and LANG.
	Env []string
}

// Input is the program's standard input. Excluded keys are not in it.
type Input struct {
	Version   int                `json:"version"` // 1
	Tool      string             `json:"tool"`
	Payload   map[string]any     `json:"payload"`
	Asks      bool               `json:"asks"` // the tool wants a person asked
	Describe  string             `json:"description,omitempty"`
	Principal approval.Principal `json:"principal"`
	Session   string             `json:"session"`
	Agent     approval.Agent     `json:"agent"`
	Cwd       string             `json:"cwd,omitempty"`
	Risk      approval.Risk      `json:"risk,omitempty"`
	Why       string             `json:"why,omitempty"`
	Safe      bool               `json:"safe"`
	Dangerous bool               `json:"dangerous"`
	Protected bool               `json:"protected"`
	Delete    bool               `json:"delete"`
}

type output struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// effects are the words a program may say.
var effects = map[string]approval.RuleEffect{
	"none": approval.RuleNone, "run": approval.RuleAllow, "ask": approval.RuleAsk, "block": approval.RuleDeny,
}

// Judge runs the program. Every error of it counts as "ask".
func (p *Program) Judge(ctx context.Context, call approval.Call) (approval.Ruling, error) {
	ruling := approval.Ruling{Rule: "rule program " + p.Path}
	in, err := json.Marshal(input(call))
	if err != nil {
		return ruling, fmt.Errorf("rule program %q: write the call: %w", p.Path, err)
	}
	said, err := p.Run(ctx, append(in, '\n'))
	if err != nil {
		return ruling, fmt.Errorf("rule program %q: %w", p.Path, err)
	}
	out, err := parse(said)
	if err != nil {
		return ruling, fmt.Errorf("rule program %q: answer: %w", p.Path, err)
	}
	ruling.Effect, ruling.Reason = effects[out.Decision], out.Reason
	if ruling.Reason == "" && ruling.Effect != approval.RuleNone {
		ruling.Reason = fmt.Sprintf("%s says %s", p.Path, out.Decision)
	}
	return ruling, nil
}

// Check says why the program can't be run as it is: it is not there, others than root
// and the caller's user could exchange it, or its path is one of several names.
func (p *Program) Check() error { return trusted(p.Path) }

func input(call approval.Call) Input {
	in := Input{Version: 1, Tool: call.Tool, Payload: call.Payload, Principal: call.Principal, Session: call.Session,
		Agent: call.Agent, Cwd: call.Cwd, Why: call.Why, Safe: call.Class.Safe,
		Dangerous: call.Class.Dangerous, Protected: call.Class.Protected, Delete: call.Class.Delete}
	if r := call.Request; r != nil {
		in.Asks, in.Payload, in.Describe, in.Risk = true, r.Payload, r.Description, r.Risk
		in.Dangerous = in.Dangerous || r.Dangerous
		in.Protected = in.Protected || r.Protected
		in.Delete = in.Delete || r.Delete
	}
	return in
}

// Run executes the program with stdin and returns its standard output. The error is that of a program that can't be
// trusted, that failed, or that took too long.
func (p *Program) Run(ctx context.Context, stdin []byte) ([]byte, error) {
	if !filepath.IsAbs(p.Path) {
		return nil, errors.New("its path is not absolute")
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	timeout := p.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, p.Env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout bounded
	cmd.Stdout, cmd.Stderr = &stdout, io.Discard
	ownGroup(cmd)
	// A grandchild that holds the pipes open must not hold us.
	cmd.WaitDelay = 100 * time.Millisecond
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = cmd.Cancel() // it left children behind that hold the pipe
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("no answer within %s", timeout)
	case stdout.over:
		return nil, fmt.Errorf("said more than %d bytes", maxOutput)
	case err != nil:
		return nil, err
	}
	return stdout.Bytes(), nil
}

func parse(said []byte) (output, error) {
	dec := json.NewDecoder(bytes.NewReader(said))
	dec.DisallowUnknownFields()
	var out output
	if err := dec.Decode(&out); err != nil {
		return output{}, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return output{}, errors.New("more than one answer")
	}
	if _, ok := effects[out.Decision]; !ok {
		return output{}, fmt.Errorf("unknown decision %q", out.Decision)
	}
	return out, nil
}

// bounded keeps the first maxOutput bytes and notes that there was more.
type bounded struct {
	bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		b.over = true
		return len(p), nil
	}
	return b.Buffer.Write(p)
}
