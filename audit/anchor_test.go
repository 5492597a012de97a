package audit

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"
)

// R-AU-02: a head that was signed is known wherever it was kept.
func TestSignedAnchor(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, _ := ed25519.GenerateKey(nil)
	a := Anchor{Seq: 12, Hash: strings.Repeat("ab", 32)}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	line := a.SignedLine(at, 1000, private)
	if got, err := ParseAnchor(line[strings.LastIndex(line, " ")+1:]); err != nil || got != a {
		t.Errorf("%v %v", got, err)
	}
	if !SignedBy(line, public) {
		t.Errorf("%q", line)
	}
	words := strings.Fields(line)
	for what, forged := range map[string]string{
		"another key's": "", "unsigned": a.Line(at), "empty": " ", "no base64": words[0] + " 1000 !! " + words[3],
		"another time":   strings.Replace(line, "2026", "2025", 1),
		"another user":   strings.Replace(line, " 1000 ", " 1001 ", 1),
		"another number": strings.Replace(line, " 12:", " 11:", 1), "another hash": strings.Replace(line, ":ab", ":ac", 1),
		"a word more": line + " " + words[3],
	} {
		key := public
		if forged == "" {
			forged, key = line, other
		}
		if SignedBy(forged, key) {
			t.Errorf("%s: %q", what, forged)
		}
	}
}
