package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/cmd/sbx/internal/term/termtest"
)

// keysScript plays the shell at a terminal: for each line of keys it runs a command that asks. It writes
// the command's exit status and, in hexadecimal, the bytes that the next program at the terminal would read.
const keysScript = `trap '' INT
n=0
while [ $n -lt $COUNT ]; do
	n=$((n+1))
	until [ -e ../go-$n ]; do sleep 0.02; done
	(trap - INT; exec sbx --config ../config.toml run -c "touch made-$n")
	status=$?
	saved=$(stty -g)
	stty raw -echo min 0 time 1
	left=$(dd bs=4096 count=1 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
	stty "$saved"
	echo "$status $left" >../new
	mv ../new ../result-$n
done
`

// chunk is what arrives at a terminal at once.
type chunk struct {
	keys string
	ends bool // it may end the question
}

func (c chunk) String() string { return strconv.Quote(c.keys) }

// noChunks returns keys none of which is an approval, wherever they begin to count and however long the pauses are:
// what is left of a text is longer than an answer.
func noChunks(random *rand.Rand, settled bool) []chunk {
	starts := []string{"2 ", "1. ", "y ", "yes ", "s ", "yes\t", "11", "a ", "N ", "v ", "q ",
		"é", "\xff", "日本 ", "12345 ", "$(", "!y "}
	texts := []string{"touch owned zz", "; touch owned; zz", "echo 1 2 3 zz", "please make one only zz", "y y y y y y zz"}
	text := func() string { return starts[random.IntN(len(starts))] + texts[random.IntN(len(texts))] }
	var out []chunk
	for range 1 + random.IntN(6) {
		switch n := random.IntN(12); {
		case n < 5:
			out = append(out, chunk{text(), false})
		case n < 8:
			out = append(out, chunk{"\r", true})
		case n == 8:
			out = append(out, chunk{text() + "\r" + text(), true})
		case n == 9:
			out = append(out, chunk{"\x1b[200~" + text() + "\r\x1b[201~", true})
		case n == 10 && settled:
			out = append(out, chunk{[]string{"\x03", "\x04"}[random.IntN(2)], true})
		default:
			out = append(out, chunk{[]string{"\x15", "\x1b[6~", "\x1b[5~", "n", "v", "\x1b[99~"}[random.IntN(6)], false})
		}
	}
	return out
}

// keysShell is a terminal with keysScript.
type keysShell struct {
	*house
	*termtest.Screen
	n int
}

func (s *keysShell) result() (string, bool) {
	b, err := os.ReadFile(filepath.Join(s.dir, "result-"+strconv.Itoa(s.n)))
	return string(b), err == nil
}

// put runs the next command, and returns once its question is shown.
func (s *keysShell) put(t *testing.T) (shown func() bool) {
	t.Helper()
	s.n++
	before := len(s.Shown())
	s.write("../go-"+strconv.Itoa(s.n), "")
	return func() bool { return strings.Contains(s.Shown()[before:], "Deny:") }
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: did not come within a minute", what)
		}
	}
}

// end waits for the result, cancels a question that is still open, and returns the exit status and what is left.
func (s *keysShell) end(t *testing.T, shown func() bool) (status, left string) {
	t.Helper()
	next := time.Now().Add(1500 * time.Millisecond)
	var text string
	eventually(t, "the end of the command", func() (ok bool) {
		if text, ok = s.result(); !ok && shown() && time.Now().After(next) {
			s.Press("\x03")
			next = time.Now().Add(1500 * time.Millisecond)
		}
		return ok
	})
	status, left, _ = strings.Cut(strings.TrimSpace(text), " ")
	return status, strings.ReplaceAll(left, "03", "")
}

// R-UX-09: at a real terminal no sequence of keys but a yes approves, whenever they come, and none of them reaches the
// program that reads the terminal next. PTY_KEYSTROKES is how many sequences each of six terminals takes.
func TestScreenKeystrokes(t *testing.T) {
	count := 16
	if n, err := strconv.Atoi(os.Getenv("PTY_KEYSTROKES")); err == nil {
		count = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range 6 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			h := newHouse(t, "[approval]\ntimeout = \"5m\"\n")
			h.sbx("trust")
			s := &keysShell{house: h, Screen: termtest.Open(t)}
			cmd := exec.Command("sh", "-c", keysScript)
			cmd.Dir = h.project()
			cmd.Env = append(append(os.Environ(), h.env...), "TERM=xterm-256color", fmt.Sprint("COUNT=", count))
			s.Start(cmd)
			steady := 0
			for range count - 2 {
				if s.deny(t, random) {
					steady++
				}
			}
			t.Logf("%d of %d sequences came without a pause after the end", steady, count-2)
			s.approve(t, "y", "\r")
			s.approve(t, "1")
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// deny plays one sequence that is no yes. It reports whether the keys after the end of the question came so soon that
// they still belong to it.
func (s *keysShell) deny(t *testing.T, random *rand.Rand) (steady bool) {
	t.Helper()
	settled := random.IntN(3) > 0
	list := noChunks(random, settled)
	shown := s.put(t)
	if settled {
		eventually(t, "the question", shown)
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
	}
	steady = true
	ended, last := false, time.Now()
	for _, c := range list {
		pause := 400
		if ended {
			pause = 60
		}
		time.Sleep(time.Duration(random.IntN(pause)) * time.Millisecond)
		s.Press(c.keys)
		if now := time.Now(); ended && now.Sub(last) > 200*time.Millisecond {
			steady = false
		}
		ended, last = ended || c.ends, time.Now()
	}
	status, left := s.end(t, shown)
	if made := "made-" + strconv.Itoa(s.n); s.exists(made) || status == "0" {
		t.Errorf("%v approved: exit status %s\n%s", list, status, s.Shown())
	}
	if left != "" && steady || s.exists("owned") {
		t.Errorf("%v: %s reached the next program", list, left)
	}
	return steady
}

// approve answers a question by a yes.
func (s *keysShell) approve(t *testing.T, keys ...string) {
	t.Helper()
	shown := s.put(t)
	eventually(t, "the question", shown)
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Second) {
		if _, ok := s.result(); ok {
			break
		}
		time.Sleep(600 * time.Millisecond)
		for _, k := range keys {
			before := len(s.Shown())
			s.Press(k)
			time.Sleep(100 * time.Millisecond) // an Enter in one piece with other keys is a paste
			taken := func() bool { return strings.Contains(s.Shown()[before:], "\x1b[32;1m") }
			for end := time.Now().Add(time.Second); k == "y" && !taken() && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			if k == "y" && !taken() { // it came before the question counts keys: an Enter would be a no
				break
			}
		}
	}
	if status, _ := s.end(t, func() bool { return false }); status != "0" || !s.exists("made-"+strconv.Itoa(s.n)) {
		t.Errorf("%q did not approve: exit status %s\n%s", keys, status, s.Shown())
	}
}

// U26: a person who leaves the queue by Ctrl+C decides nothing: the key denied the question on the screen. It says now
// what it does, at the second press; another key in between takes the first back.
func TestScreenQueueIsLeft(t *testing.T) {
	t.Parallel()
	h := furnished(t, slow)
	done := h.agent().asks(plain)
	h.waits(1)
	d := h.sit(80, 24, "")
	d.Wait(waits)
	settle()
	for range 2 {
		d.steps("C-c", "?C again denies, Ctrl.Q leaves", "y", "?> 1", "BSpace", "?> 4")
	}
	d.Press("C-c")
	h.nothing("after Ctrl+C")
	d.Press("C-q")
	if code := d.Status(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	h.nothing("after the queue was left")
	h.sbx("approve", h.waits(1)[0].ID, "--deny")
	<-done
}
