package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sandboxd/ipc"
)

// maxLine bounds one line of input; a longer one is refused, not cut.
const maxLine = 8 << 20

// checkLine is one line of `sbx check --jsonl`. Other keys are ignored.
type checkLine struct {
	ID      json.RawMessage   `json:"id"`
	Command *string           `json:"command"`
	Argv    []string          `json:"argv"`
	Cwd     string            `json:"cwd"`
	Env     map[string]string `json:"env"`
	TTY     bool              `json:"tty"`
}

// checkAnswer is one line of its output.
type checkAnswer struct {
	ID       json.RawMessage `json:"id"`
	Decision string          `json:"decision"`
	Why      string          `json:"why"`
	Rule     string          `json:"rule"`
}

// checkLines judges every line of in, in order. The answer to a line that cannot be
// judged is deny; after the last line, checkLines returns an error that counts them.
func (a *app) checkLines(ctx context.Context, client *ipc.Client, in io.Reader, cwd string) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	out := bufio.NewWriter(a.out)
	defer out.Flush()
	bad := 0
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if err == io.EOF {
			break
		}
		if len(bytes.TrimSpace(line)) == 0 && err == nil {
			continue
		}
		answer := checkAnswer{ID: json.RawMessage("null"), Decision: ipc.DecisionDeny, Rule: "input"}
		if err == nil {
			err = judgeLine(ctx, client, line, cwd, &answer)
		}
		var refused *ipc.Error
		switch {
		case err == nil:
		case errors.As(err, &refused):
			answer.Why, answer.Rule = refused.Message, string(refused.Code)
		case answer.Rule != "input" || ctx.Err() != nil:
			return err // the daemon is gone: no further line can be judged
		default:
			bad++
			answer.Why = fmt.Sprintf("line %d cannot be judged: %v", n, err)
		}
		text, err := asciiJSON(answer)
		if err != nil {
			return err
		}
		out.Write(append(text, '\n'))
		if lines.Buffered() == 0 { // a caller that writes one line at a time waits for this answer
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%s could not be judged; their \"why\" says more", plural(bad, "line"))
	}
	return nil
}

// judgeLine fills in the answer to one line.
func judgeLine(ctx context.Context, client *ipc.Client, line []byte, cwd string, answer *checkAnswer) error {
	var q checkLine
	if err := json.Unmarshal(line, &q); err != nil {
		return err
	}
	if len(q.ID) > 0 {
		answer.ID = q.ID
	}
	if (q.Command == nil) == (len(q.Argv) == 0) {
		return fmt.Errorf("want a \"command\" or an \"argv\"")
	}
	if q.Cwd == "" {
		q.Cwd = cwd
	}
	r := ipc.CheckRequest{Argv: q.Argv, Cwd: q.Cwd, Env: q.Env, TTY: q.TTY, DryRun: true}
	if q.Command != nil {
		r.Command = *q.Command
	}
	answer.Rule = ""
	v, err := client.Check(ctx, r)
	if err != nil {
		return err
	}
	answer.Decision, answer.Why, answer.Rule = v.Decision, v.Why, v.Rule
	return nil
}

// readLine reads one line without its end; the last may lack one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(line) == 0, err != nil && err != io.EOF:
			return nil, err
		case len(line) > maxLine:
			return nil, fmt.Errorf("it is longer than %d bytes", maxLine)
		}
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
}
