package secret

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// span is a secret in a text: the bytes from From up to To.
type span struct{ From, To int }

// finder is one form of secret: group number value of expr holds it, 0 for the value behind
// the match, if accept agrees to the match.
type finder struct {
	needs  []string // one of these is in every match, or in its lower case
	expr   *regexp.Regexp
	value  int
	accept func(match []string) bool
	issued bool // the form alone marks it as a secret
}

const (
	quoted = `(?:"[^"]*"|'[^']*'|[^\s"'-][^\s"']*)`
	word   = `[A-Za-z0-9_.~+/=%-]`
)

// issuers is a part of each known issuer's prefix.
var issuers = []string{"gh", "github_pat_", "glp", "xox", "xapp-", "sk-", "sk_", "rk_live_", "npm_", "pypi-", "dop_v1_",
	"hf_", "shpat_", "AIza", "ya29.", "SG.", "eyJ", "rk_test_", "dckr_", "hvs.", "hvb.", "gsk_", "whsec_", "tskey-",
	"lin_api_", "dp."}

// finders are the forms, in no order: all are looked for everywhere.
var finders = sync.OnceValue(func() []finder {
	return []finder{
		// NAME=value, name: value, "name": "value"
		{[]string{"=", ":"},
			regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_.-]*)["']?(?:=|\s*:\s*|\s*=>\s*)`), 0, func(m []string) bool {
				return Name(m[1]) || optionNames(m[1])
			}, false},
		// --token value
		{[]string{"--"},
			regexp.MustCompile(`(?:^|[\s"'])--([A-Za-z][A-Za-z0-9_-]*)(?:=|\s+)`), 0, func(m []string) bool {
				return optionNames(m[1])
			}, false},
		{[]string{"-pass", "-token", "-secret", "-api"},
			regexp.MustCompile(`(?:^|[\s"'])-(?:pass|passw|passwd|password|token|secret|apikey|api-key)(?:=|\s+)` +
				`(` + quoted + `)`), 1, nil, false},
		// -pvalue and -p value, of the few programs that mean a password by it
		{[]string{"-p"},
			regexp.MustCompile(`\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|mycli)` +
				`\s(?:[^;|&\n]*\s)?-p([^\s;|&"']+)`), 1, nil, false},
		{[]string{"-p"},
			regexp.MustCompile(`\b(?:sshpass|(?:docker|podman)\s+login)\s(?:[^;|&\n]*\s)?-p\s*(` + quoted + `)`), 1, nil, false},
		// zip -P value, keytool -storepass value
		{[]string{"zip", "7z"},
			regexp.MustCompile(`\b(?:un)?zip\s(?:[^;|&\n]*\s)?-[A-Za-z]*P\s*(` + quoted + `)`), 1, nil, false},
		{[]string{"-storepass", "-keypass", "-srcstorepass", "-deststorepass"},
			regexp.MustCompile(`\s-(?:(?:src|dest)?store|(?:src|dest)?key)pass\s+(` + quoted + `)`), 1, nil, false},
		// curl -b name=value
		{[]string{"curl"},
			regexp.MustCompile(`\bcurl\s(?:[^;|&\n]*\s)?(?:-b\s*|--cookie[\s=])["']?[A-Za-z0-9_.-]+=(` + word + `+)`), 1, nil,
			false},
		// aws_secret_access_key value, //host/:_authToken value: a name of several parts, and no file behind it
		{[]string{"_", "-", "."},
			regexp.MustCompile(`(?:^|[\s"':])([A-Za-z_][A-Za-z0-9]*(?:[_.-][A-Za-z0-9]+)+|_[A-Za-z]+)["']?\s+["']?(` +
				word + `{8,})`), 2, func(m []string) bool {
				path := strings.Contains(m[2], "/") && (len(m[2]) < 20 || strings.ToLower(m[2]) == m[2])
				return optionNames(m[1]) && strings.ContainsAny(m[2], "0123456789") && !strings.Contains(m[2], ".") && !path
			}, false},
		{[]string{"redis-cli"},
			regexp.MustCompile(`\bredis-cli\s(?:[^;|&\n]*\s)?-a\s+(` + quoted + `)`), 1, nil, false},
		{[]string{"-u", "--user", "--proxy-user"},
			regexp.MustCompile(`(?:^|\s)(?:-u|--user|--proxy-user|-U)[=\s]*["']?[^\s:"'/]+:([^\s"'@/]+)`), 1, nil, false},
		{[]string{"pass:"},
			regexp.MustCompile(`\bpass:([^\s"']+)`), 1, nil, false},
		// Authorization: Bearer value
		{[]string{"authorization"},
			regexp.MustCompile(`(?i)\bauthorization["']?\s*[:=]\s*["']?` +
				`(?:(?:bearer|basic|token|digest|apikey|negotiate)\s+)?(` + word + `+)`), 1, func(m []string) bool {
				schemes := []string{"bearer", "basic", "token", "digest", "apikey", "negotiate"}
				return !slices.Contains(schemes, strings.ToLower(m[1]))
			}, false},
		{[]string{"bearer"},
			regexp.MustCompile(`(?i)\bbearer\s+(` + word + `{8,})`), 1, nil, false},
		{[]string{"cookie:"},
			regexp.MustCompile(`(?i)\bcookie:\s*[A-Za-z0-9_.-]+=(` + word + `+)`), 1, nil, false},
		// scheme://user:password@host and ?token=value
		{[]string{"://"},
			regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#:@"']*:([^\s/?#@"']+)@`), 1, nil, false},
		{[]string{"://"},
			regexp.MustCompile(`(?i)https?://([A-Za-z0-9_.~%+-]{16,})@`), 1, nil, false},
		{[]string{"="},
			regexp.MustCompile(`[?&;]([A-Za-z0-9_.-]+)=(` + word + `+)`), 2, func(m []string) bool {
				return Name(m[1]) || optionNames(m[1]) || slices.Contains([]string{"sig", "signature", "key", "X-Amz-Signature"},
					m[1])
			}, false},
		// tokens of known issuers
		{issuers,
			regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|glptt-|xox[abceprs]-|` +
				`xapp-|sk-|sk_live_|sk_test_|rk_(?:live|test)_|npm_|pypi-|dop_v1_|hf_|shpat_|AIza|ya29\.|SG\.|eyJ|` +
				`dckr_[po]at_|hv[sb]\.|gsk_|whsec_|tskey-|lin_api_|dp\.(?:pt|st|ct|sa|scim)\.)` +
				`([A-Za-z0-9_.-]{14,})`), 1, nil, true},
		{[]string{"AKIA", "ASIA"},
			regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:AKIA|ASIA)([0-9A-Z]{12,})`), 1, nil, true},
		{[]string{"AGE-SECRET-KEY-1"},
			regexp.MustCompile(`AGE-SECRET-KEY-1([0-9A-Z]{20,})`), 1, nil, true},
		{[]string{"hooks.slack.com"},
			regexp.MustCompile(`hooks\.slack\.com/services/([A-Za-z0-9/]{20,})`), 1, nil, false},
	}
})

// private is a private key; its lines are masked each.
var private = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----` +
	`((?:\s|\\[nr])+(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])+)*[A-Za-z0-9+/=]*)`)

var keyLine = regexp.MustCompile(`[A-Za-z0-9+/=]{4,}`)

// maxText bounds one search, in bytes; a longer text is searched piece by piece, each of which has the end of the one
// before it, so that a secret across their border is found.
const (
	maxText = 64 << 10
	overlap = 16 << 10
)

// findAll returns the secrets in a text, in order; none overlap.
func findAll(text string) []span {
	var found []span
	for from := 0; from < len(text); from += maxText - overlap {
		found = append(found, find(text[from:min(from+maxText, len(text))], from)...)
		if from+maxText >= len(text) {
			break
		}
	}
	slices.SortFunc(found, func(a, b span) int { return a.From - b.From })
	var out []span
	for _, s := range found {
		if n := len(out); n > 0 && s.From < out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// possible is false where the form is nowhere in the text; lower is the text in lower case.
func (f finder) possible(text, lower string) bool {
	return slices.ContainsFunc(f.needs, func(part string) bool {
		return strings.Contains(text, part) || strings.Contains(lower, part)
	})
}

func find(text string, at int) (found []span) {
	lower := strings.ToLower(text)
	for _, f := range finders() {
		if !f.possible(text, lower) {
			continue
		}
		for from := 0; from < len(text); {
			m := f.expr.FindStringSubmatchIndex(text[from:])
			if m == nil {
				break
			}
			next := from + m[1]
			s := span{next, next}
			if f.value > 0 {
				s = span{from + m[2*f.value], from + m[2*f.value+1]}
			}
			if f.accept == nil || f.accept(groups(text[from:], m)) {
				if f.value == 0 {
					s.To = valueEnd(text, next)
					next = s.To
				}
				s = unquoted(text, s)
				if v := text[s.From:s.To]; maskable(v) || f.issued && !strings.ContainsAny(v, unsafe) {
					found = append(found, span{at + s.From, at + s.To})
				}
			}
			from = max(next, from+1)
		}
	}
	if !strings.Contains(text, "PRIVATE KEY") {
		return found
	}
	for _, m := range private.FindAllStringSubmatchIndex(text, -1) {
		for _, l := range keyLine.FindAllStringIndex(text[m[2]:m[3]], -1) {
			found = append(found, span{at + m[2] + l[0], at + m[2] + l[1]})
		}
	}
	return found
}

// valueEnd is where a word that begins at from ends; an option is none.
func valueEnd(text string, from int) int {
	rest := text[from:]
	switch {
	case rest == "" || rest[0] == '-':
		return from
	case rest[0] == '"' || rest[0] == '\'':
		if i := strings.IndexByte(rest[1:], rest[0]); i >= 0 {
			return from + i + 2
		}
		return from
	}
	if i := strings.IndexAny(rest, " \t\r\n\"'"); i >= 0 {
		return from + i
	}
	return len(text)
}

func groups(text string, m []int) []string {
	out := make([]string, len(m)/2)
	for i := range out {
		if m[2*i] >= 0 {
			out[i] = text[m[2*i]:m[2*i+1]]
		}
	}
	return out
}

// unquoted removes quotes, and characters that end a bare value.
func unquoted(text string, s span) span {
	v := text[s.From:s.To]
	if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
		return span{s.From + 1, s.To - 1}
	}
	if i := strings.IndexAny(v, ";|&<>(){}[],`"); i >= 0 {
		return span{s.From, s.From + i}
	}
	return s
}

var host = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.[A-Za-z]{2,}(:[0-9]+)?$|` +
	`^[0-9.]+(:[0-9]+)?$|^localhost(:[0-9]+)?$`)

// issued are the prefixes whose values are no file names, in spite of dots.
var issued = regexp.MustCompile(`^(?:gh[pousr]_|github_pat_|glpat-|xox[abceprs]-|sk-|ya29\.|SG\.|eyJ|hv[sb]\.|dp\.)`)

// unsafe are characters that no mask covers.
const unsafe = " \t\r\n;|&<>(){}`$\\\"'*?[]"

// maskable reports whether a value may be hidden from the person who decides: nothing that a shell
// would run, and no path, file or host.
func maskable(v string) bool {
	switch {
	case len(v) < 2 || strings.ContainsAny(v, unsafe) || strings.HasPrefix(v, digestPrefix):
		return false
	case strings.Contains(v, "://") || strings.ContainsAny(v[:1], "/.~-"):
		return false
	case issued.MatchString(v) || !host.MatchString(v) && !strings.Contains(v, "./"):
		return !slices.Contains(plain, strings.ToLower(v))
	}
	return false
}

// plain are words that no secret is.
var plain = []string{"true", "false", "yes", "no", "null", "none", "nil", "bearer", "basic", "token", "string",
	"digest", "auto", "always", "never", "required", "optional"}

// Mask returns text with its secrets replaced.
func Mask(text string) string {
	masked, _ := MaskAt(text)
	return masked
}

// MaskAt is Mask; at turns an offset in text into one in the masked text.
func MaskAt(text string) (masked string, at func(int) int) {
	found := findAll(text)
	if len(found) == 0 {
		return text, func(i int) int { return i }
	}
	var b strings.Builder
	ends := make([]span, 0, len(found)) // of each: the end in text, and in masked
	last := 0
	for _, s := range found {
		b.WriteString(text[last:s.From])
		b.WriteString(masks(text[s.From:s.To]))
		last = s.To
		ends = append(ends, span{last, b.Len()})
	}
	b.WriteString(text[last:])
	return b.String(), func(i int) int {
		shift := 0
		for n, s := range found {
			switch {
			case i >= s.To:
				shift = ends[n].To - ends[n].From
			case i > s.From:
				return ends[n].To
			}
		}
		return i + shift
	}
}

// masks replaces a value.
func masks(value string) string { return fmt.Sprintf("[%d masked]", utf8.RuneCountInString(value)) }
