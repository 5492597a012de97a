package approval

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Mode decides calls that would ask (R-AP-04).
type Mode string

const (
	ModeInteractive Mode = "interactive" // ask a person
	ModeStrict      Mode = "strict"      // deny
	ModeApproveAll  Mode = "approve-all" // approve; never from a file, see Controller.ApproveAll
)

// Policy is the mood of the lists (R-AP-19).
type Policy string

const (
	PolicyNormal    Policy = "normal"    // unlisted calls ask
	PolicyWhitelist Policy = "whitelist" // calls that no list permits are refused unasked
	PolicyBlacklist Policy = "blacklist" // unlisted calls run
	// PolicyContained runs calls of a trusted project whose effects stay in it and can be undone.
	PolicyContained Policy = "contained"
)

// Values of Config.NoApprover.
const (
	NoApproverWait = "wait" // leave the question open for its time
	NoApproverDeny = "deny" // refuse at once
)

// Config is the section [approval] of a configuration file. Start from
// DefaultConfig; decode over it; Validate.
type Config struct {
	Mode   Mode   `toml:"mode"`
	Policy Policy `toml:"policy"`
	// Contained, if false, forbids the policy "contained", also for projects that were trusted with it.
	Contained bool `toml:"contained"`
	// SafeCommandsOnly refuses, unasked, commands that are not on the safe list.
	SafeCommandsOnly bool `toml:"safe_commands_only"`
	// Timeout is how long a question waits at a terminal, and with nobody
	// there; TimeoutRemote where only remote approvers are connected.
	Timeout       Duration `toml:"timeout"`
	TimeoutRemote Duration `toml:"timeout_remote"`
	// NoApprover is "wait" or "deny".
	NoApprover string `toml:"no_approver"`
	// Inline lets the person at the terminal of `sbx run` answer there.
	Inline bool `toml:"inline"`
	// ClientAnswers lets the agent's own client put questions of low risk to
	// the person there. The answer comes through the requester.
	ClientAnswers bool `toml:"client_answers"`
	// RuleProgram is the absolute path of an operator's program that judges every
	// call, too; empty: none (package external, R-AP-22).
	RuleProgram string `toml:"rule_program"`
	// ShowStats prints the statistics when a session ends.
	ShowStats bool `toml:"show_stats"`
	// DoubleConfirmDeletes asks twice for deletes. Dangerous and protected
	// things ask twice in any case.
	DoubleConfirmDeletes bool `toml:"double_confirm_deletes"`

	// Keys of other products that would switch the questions off. They are
	// here so that Validate can name the remedy (R-AP-18).
	Enabled    *bool `toml:"enabled,omitempty"`
	YoloMode   *bool `toml:"yolo_mode,omitempty"`
	ApproveAll *bool `toml:"approve_all,omitempty"`
}

// DefaultConfig is the configuration without any file.
func DefaultConfig() Config {
	return Config{
		Mode:                 ModeInteractive,
		Policy:               PolicyNormal,
		Contained:            true,
		Timeout:              Duration(10 * time.Minute),
		TimeoutRemote:        Duration(5 * time.Minute),
		NoApprover:           NoApproverWait,
		Inline:               true,
		ShowStats:            true,
		DoubleConfirmDeletes: true,
	}
}

// Validate reports the first setting that cannot be taken.
func (c Config) Validate() error {
	const instead = "questions cannot be switched off from a file; a person starts `sandboxd --mode approve-all`, or " +
		"`sbx mode approve-all` for one session"
	switch {
	case c.Enabled != nil && !*c.Enabled:
		return fmt.Errorf("approval.enabled = false: %s", instead)
	case c.YoloMode != nil:
		return fmt.Errorf("approval.yolo_mode: %s", instead)
	case c.ApproveAll != nil:
		return fmt.Errorf("approval.approve_all: %s", instead)
	}
	switch c.Mode {
	case ModeInteractive, ModeStrict:
	case ModeApproveAll, "approve_all", "yolo":
		return fmt.Errorf("approval.mode %q: %s", c.Mode, instead)
	default:
		return fmt.Errorf("approval.mode %q: want %q or %q", c.Mode, ModeInteractive, ModeStrict)
	}
	switch c.Policy {
	case PolicyNormal, PolicyContained, PolicyWhitelist, PolicyBlacklist:
	default:
		return fmt.Errorf("approval.policy %q: want %q, %q, %q or %q", c.Policy,
			PolicyNormal, PolicyContained, PolicyWhitelist, PolicyBlacklist)
	}
	switch c.NoApprover {
	case NoApproverWait, NoApproverDeny:
	default:
		return fmt.Errorf("approval.no_approver %q: want %q or %q", c.NoApprover, NoApproverWait, NoApproverDeny)
	}
	if p := c.RuleProgram; p != "" && (!filepath.IsAbs(p) || filepath.Clean(p) != p) {
		return fmt.Errorf("approval.rule_program %q: want an absolute path without \"..\", as it is neither searched for "+
			"nor looked up from a directory", p)
	}
	for _, t := range []struct {
		key string
		d   Duration
	}{{"timeout", c.Timeout}, {"timeout_remote", c.TimeoutRemote}} {
		if d := time.Duration(t.d); d < time.Second || d > 24*time.Hour {
			return fmt.Errorf("approval.%s %q: want between 1s and 24h", t.key, d)
		}
	}
	return nil
}

// Duration is a time.Duration that a file writes as "30s", "5m" or, as the
// specifications do, as a bare number of seconds.
type Duration time.Duration

// UnmarshalText reads a duration or a number of seconds.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		if !(n >= 0 && n <= 1e9) {
			return fmt.Errorf("duration %q: out of range", s)
		}
		*d = Duration(n * float64(time.Second))
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		zeros := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return '0'
			}
			return r
		}, s)
		if _, no := time.ParseDuration(zeros); no == nil {
			return fmt.Errorf("duration %q: out of range", s)
		}
		return fmt.Errorf("duration %q: want a form like \"30s\" or \"5m\"", s)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes the form that UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Duration) String() string { return time.Duration(d).String() }

// inWords writes a duration for people: "30 s", "10 min".
func (d Duration) inWords() string {
	t := time.Duration(d)
	if t >= 2*time.Minute && t%time.Minute == 0 {
		return strconv.FormatInt(int64(t/time.Minute), 10) + " min"
	}
	return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) + " s"
}
