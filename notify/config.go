package notify

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"sandboxd/approval"
)

// Config is the section [notify].
type Config struct {
	// Desktop sends to the notification service of the user's session.
	Desktop bool `toml:"desktop"`
	// Terminal is "bell", "osc9", "osc777" or "osc99": what the user's terminals get. Empty means nothing.
	Terminal string `toml:"terminal"`
	// Command is the absolute path of a program; empty means none.
	Command string `toml:"command"`
	// Share is the content of a notice: "none" (that a question waits), "summary" (agent, kind of call, risk, name of
	// the project's folder) or "command" (the command or path as well).
	Share string `toml:"share"`
	// Delay is how long a question waits before its notice, DelayHigh that of a high risk.
	Delay     approval.Duration `toml:"delay"`
	DelayHigh approval.Duration `toml:"delay_high"`
	// Quiet are the hours without notices, local time, such as "22:00-07:00"; empty means none.
	Quiet string `toml:"quiet"`
	// Link is an address at which a person answers; "{id}" in it is replaced by the question's.
	Link     string    `toml:"link"`
	Webhooks []Webhook `toml:"webhooks"`
}

// Webhook is one [[notify.webhooks]].
type Webhook struct {
	// URL is the address of the service, https or http.
	URL string `toml:"url"`
	// Form is "json", "ntfy", "slack", "teams", "discord" or "template".
	Form string `toml:"form"`
	// SecretFile is the absolute path of the key of the signature; empty means unsigned.
	SecretFile string `toml:"secret_file"`
	// Template is the body of the form template: text/template over Notice, with the function json.
	Template string `toml:"template"`
}

// Defaults returns the configuration without any receiver.
func Defaults() Config {
	return Config{
		Share: "summary", Delay: approval.Duration(10 * time.Second), DelayHigh: approval.Duration(3 * time.Second),
	}
}

// on reports whether c has a receiver.
func (c Config) on() bool {
	return c.Desktop || c.Terminal != "" || c.Command != "" || len(c.Webhooks) > 0
}

// Validate returns an error that names the first invalid key.
func (c Config) Validate() error {
	switch {
	case c.Share != "none" && c.Share != "summary" && c.Share != "command":
		return fmt.Errorf("notify.share %q is none of none, summary, command", c.Share)
	case c.Terminal != "" && sequences[c.Terminal] == nil:
		return fmt.Errorf("notify.terminal %q is none of bell, osc9, osc777, osc99", c.Terminal)
	case c.Command != "" && !filepath.IsAbs(c.Command):
		return fmt.Errorf("notify.command %q is not an absolute path", c.Command)
	case c.Delay < 0 || c.DelayHigh < 0:
		return errors.New("notify.delay and notify.delay_high can't be negative")
	}
	if _, err := parseQuiet(c.Quiet); err != nil {
		return fmt.Errorf("notify.quiet: %w", err)
	}
	if c.Link != "" {
		if err := httpURL(c.Link); err != nil {
			return fmt.Errorf("notify.link: %w", err)
		}
	}
	for _, w := range c.Webhooks {
		if err := w.validate(); err != nil {
			return fmt.Errorf("notify.webhooks: %w", err)
		}
	}
	return nil
}

func (w Webhook) validate() error {
	if err := httpURL(w.URL); err != nil {
		return err
	}
	if _, ok := forms[w.Form]; !ok {
		return fmt.Errorf("form %q of %s is none of json, ntfy, slack, teams, discord, template", w.Form, w.name())
	}
	if w.SecretFile != "" && !filepath.IsAbs(w.SecretFile) {
		return fmt.Errorf("secret_file %q is not an absolute path", w.SecretFile)
	}
	if (w.Template != "") != (w.Form == "template") {
		return fmt.Errorf("%s: the form template needs a template, and no other form has one", w.name())
	}
	if _, err := forms[w.Form](w, sample); err != nil {
		return fmt.Errorf("%s: %w", w.name(), err)
	}
	return nil
}

// name names w without the part of its address that is secret with most services.
func (w Webhook) name() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return "webhook"
	}
	return "webhook " + u.Host
}

// httpURL returns why s is no address of a web service. The error does not repeat s, which may contain a token.
func httpURL(s string) error {
	u, err := url.Parse(strings.ReplaceAll(s, "{id}", "id"))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("want an address that begins with https:// or http://")
	}
	return nil
}

// quiet are the hours without notices, in minutes after midnight; from == to means none.
type quiet struct{ from, to int }

func parseQuiet(s string) (quiet, error) {
	if s == "" {
		return quiet{}, nil
	}
	var q quiet
	from, to, found := strings.Cut(s, "-")
	for _, part := range []struct {
		text string
		to   *int
	}{{from, &q.from}, {to, &q.to}} {
		t, err := time.Parse("15:04", strings.TrimSpace(part.text))
		if err != nil || !found {
			return quiet{}, fmt.Errorf("%q: want two times of day, such as \"22:00-07:00\"", s)
		}
		*part.to = t.Hour()*60 + t.Minute()
	}
	return q, nil
}

// after returns t, or the end of the quiet hours around t.
func (q quiet) after(t time.Time) time.Time {
	now := t.Hour()*60 + t.Minute()
	inside := q.from <= now && now < q.to
	if q.from > q.to {
		inside = now >= q.from || now < q.to
	}
	if !inside {
		return t
	}
	end := time.Date(t.Year(), t.Month(), t.Day(), q.to/60, q.to%60, 0, 0, t.Location())
	if !end.After(t) {
		end = time.Date(t.Year(), t.Month(), t.Day()+1, q.to/60, q.to%60, 0, 0, t.Location())
	}
	return end
}
