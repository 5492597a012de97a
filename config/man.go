package config

import (
	"fmt"
	"io"
	"strings"
)

// Manual writes the manual page sandboxd.toml(5), in roff man(7), from the list of settings.
// Show, Check and Schema use the same list.
func Manual(w io.Writer, release string) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH SANDBOXD.TOML 5 \"\" \"sandboxd %s\"\n", roff(release))
	b.WriteString(`.SH NAME
sandboxd.toml \- configuration of sandboxd
.SH SYNOPSIS
.I /etc/sandboxd/config.toml
.br
.I ~/.config/sandboxd/config.toml
.br
.IR PROJECT /.sandboxd.toml
.SH DESCRIPTION
The configuration is TOML in layers: what is built in, the operator's file (which is also the
ceiling), the user's, and the project's, which may only tighten. An unknown
key is an error with its line and what was probably meant; in the project's file, which may be for
another release, it is a warning, which
.B sandboxd config check
and each
.B sbx run
there print.
.B sandboxd config show
prints every setting as it counts, with the file and line it comes from;
.B sandboxd config check
finds mistakes;
.B sandboxd config schema
prints a JSON schema for editors.
.PP
A reload
.RB ( "systemctl reload sandboxd" ,
or SIGHUP to a user's daemon) takes the files whole or not at all; a refused one is reported by
.BR "sbx status" .
Commands that run keep the profile they started with.
.PP
Durations are written "10m" or "1h30m", sizes "64MiB".
.SH SETTINGS
`)
	section := ""
	for _, k := range keys {
		name, rest, _ := strings.Cut(k.name, ".")
		if name != section {
			section = name
			fmt.Fprintf(&b, ".SS [%s]\n", roff(name))
		}
		if rest == "" {
			rest = k.name
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s", roff(rest), roff(k.doc))
		if len(k.words) > 0 {
			fmt.Fprintf(&b, " (%s)", roff(strings.Join(k.words, ", ")))
		}
		b.WriteString(".")
		if m := mergeText[k.merge]; m != "" {
			b.WriteString(" " + m)
		}
		b.WriteByte('\n')
	}
	b.WriteString(`.SH FILES
.TP
.I /etc/sandboxd/profile.d/*.toml
operator profiles, all of which bind; see
.BR sandboxd\-profile (5).
.SH SEE ALSO
.BR sandboxd (8),
.BR sbx (1),
.BR sandboxd\-profile (5)
`)
	for line := range strings.Lines(b.String()) {
		if _, err := io.WriteString(w, fold(line)); err != nil {
			return err
		}
	}
	return nil
}

// fold breaks a line of text at blanks, so that it has fewer than 80 bytes, which mandoc(1) wants.
func fold(line string) string {
	const most = 79
	if strings.HasPrefix(line, ".") || len(line) <= most {
		return line
	}
	if at := strings.LastIndexByte(line[:most], ' '); at > 0 {
		rest := line[at+1:]
		if strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "'") {
			rest = `\&` + rest
		}
		return line[:at] + "\n" + fold(rest)
	}
	return line
}

// mergeText describes how a user's value combines with the operator's.
var mergeText = map[merge]string{
	narrow:   "The operator's value is the widest.",
	grant:    "Entries must be within the operator's, where those are set.",
	restrict: "All layers' entries count.",
	rules:    "The operator's rules come first.",
}

// roff escapes text so that none of it is a request, groff_char(7).
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		return `\&` + s
	}
	return s
}
