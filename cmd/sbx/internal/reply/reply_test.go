package reply

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// sequences is how many sequences of keys TestKeystrokes types.
const sequences = 1_000_000

var plain = []string{"y", "s", "", "n", "q", "v"}

// The grammar by its table (R-UX-09), the same at a box and line by line (U2).
func TestRead(t *testing.T) {
	for _, c := range []struct {
		text   string
		kind   Kind
		option int
	}{
		{"", Empty, -1}, {"  ", Empty, -1},
		{"y", Option, 0}, {"Y", Option, 0}, {" yes ", Option, 0}, {"YES", Option, 0},
		{"n", Option, 3}, {"no", Option, 3}, {"s", Option, 1}, {"q", Option, 4}, {"v", Option, 5},
		{"1", Option, 0}, {"3", Option, 2}, {"6", Option, 5},
		{"a", NotOffered, -1}, {"A", NotOffered, -1},
		{"7", Reason, -1}, {"0", Reason, -1}, {"12", Reason, -1}, {"2 files is wrong, make only one", Reason, -1},
		{"ye", Reason, -1}, {"yess", Reason, -1}, {"yes but", Reason, -1}, {"yy", Reason, -1},
		{"no way", Reason, -1}, {"session", Reason, -1}, {"all", Reason, -1}, {"quit", Reason, -1},
		{"view", Reason, -1}, {"?", Reason, -1}, {"é", Reason, -1},
	} {
		if kind, option := Read(c.text, plain); kind != c.kind || option != c.option {
			t.Errorf("Read(%q) = %d, %d, want %d, %d", c.text, kind, option, c.kind, c.option)
		}
	}
}

// A digit takes effect after a pause; another key makes it the beginning of a reason.
func TestDigit(t *testing.T) { // R-UX-09
	now := time.Now()
	line := func(slow bool, keys ...string) Line {
		l := Line{Options: plain, First: 3, Slow: slow}
		for i, k := range keys {
			switch k {
			case "back":
				l.Erase()
			case "up":
				l.Move(-1)
			default:
				l.Type(k, now.Add(time.Duration(i)*120*time.Millisecond))
			}
		}
		return l
	}
	for name, c := range map[string]struct {
		l    Line
		due  bool
		kind Kind
		at   int
	}{
		"alone":                 {line(false, "2"), true, Option, 1},
		"high risk":             {line(true, "2"), false, Option, 1},
		"out of range":          {line(false, "9"), false, Reason, 3},
		"a reason":              {line(false, "2", " ", "e"), false, Reason, 3},
		"a reason taken back":   {line(false, "2", "x", "back"), false, Reason, 3},
		"cleared, then a digit": {line(false, "2", "x", "back", "back", "1"), true, Option, 0},
		"an arrow after it":     {line(false, "2", "up"), false, Empty, 0},
		"a key without text":    {line(false, "2", ""), false, Reason, 3},
		"an arrow after text":   {line(false, "use pnpm", "up"), false, Reason, 3},
	} {
		if c.l.Due().IsZero() == c.due || c.l.Kind() != c.kind || c.l.At() != c.at {
			t.Errorf("%s: due %v, kind %d, at %d; want %v, %d, %d", name, c.l.Due(), c.l.Kind(), c.l.At(), c.due, c.kind, c.at)
		}
	}
}

// short are the texts that are no reason.
var short = strings.Fields("y s n q v a yes no 1 2 3 4 5 6")

// model is the grammar once more, from the keys alone: the answer of a sequence that ends
// with Enter, or with a pause. It shares no code with Line.
func model(keys []string, first int, slow, pause bool) (allowed bool) {
	text, high, spoiled := "", first, false
	for _, k := range keys {
		switch k {
		case "up", "down":
			if word := strings.ToLower(strings.TrimSpace(text)); spoiled || word != "" && !slices.Contains(short, word) {
				continue
			}
			if at := shown(text, high); k == "up" {
				if at < 0 {
					at = len(plain)
				}
				high = (at + len(plain) - 1) % len(plain)
			} else {
				high = (at + 1) % len(plain)
			}
			text = ""
		case "back":
			if r := []rune(text); len(r) > 0 {
				text = string(r[:len(r)-1])
			}
			if text == "" {
				high, spoiled = first, false
			}
		case "clear":
			text, high, spoiled = "", first, false
		default:
			if k != " " || text != "" {
				text += k
			}
			spoiled = spoiled || len([]rune(text)) > 1 && strings.ContainsAny(text[:1], "0123456789")
		}
	}
	word := strings.ToLower(strings.TrimSpace(text))
	if pause {
		last := keys[len(keys)-1]
		return !slow && !spoiled && text == last && (text == "1" || text == "2")
	}
	if word == "" {
		return high == 0 || high == 1
	}
	return !spoiled && (word == "y" || word == "yes" || word == "s" || word == "1" || word == "2")
}

func shown(text string, high int) int {
	switch word := strings.ToLower(strings.TrimSpace(text)); word {
	case "":
		return high
	case "yes":
		return 0
	case "no", "a":
		return 3
	case "1", "2", "3", "4", "5", "6":
		return int(word[0] - '1')
	default:
		return strings.Index("ys_nqv", word)
	}
}

// Only what the grammar names as a yes approves (R-UX-09): random keys and pauses, against a
// second reading of the grammar.
func TestKeystrokes(t *testing.T) {
	keys := append(strings.Fields("y Y e s n o a q v 1 2 3 6 7 0 x é 日 up down back clear yes no"), " ")
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	yes := 0
	for range sequences {
		first, slow := []int{0, 3, -1}[random.IntN(3)], random.IntN(2) == 0
		l, now := Line{Options: plain, First: first, Slow: slow}, time.Time{}.Add(time.Hour)
		var typed []string
		for range 1 + random.IntN(8) {
			k := keys[random.IntN(len(keys))]
			now = now.Add(time.Duration(random.Int64N(int64(Pause))))
			switch typed = append(typed, k); k {
			case "up":
				l.Move(-1)
			case "down":
				l.Move(1)
			case "back":
				l.Erase()
			case "clear":
				l.Clear()
			default:
				typed = typed[:len(typed)-1]
				for _, r := range k {
					typed = append(typed, string(r))
				}
				l.Type(k, now)
			}
		}
		kind, option := l.Enter()
		got := kind == Option && option < 2
		if want := model(typed, first, slow, false); got != want {
			t.Fatalf("%q and Enter (first %d, slow %v): a yes is %v, want %v", typed, first, slow, got, want)
		}
		due := !l.Due().IsZero() && l.At() >= 0 && l.At() < 2
		if want := model(typed, first, slow, true); due != want {
			t.Fatalf("%q and a pause (first %d, slow %v): a yes is %v, want %v", typed, first, slow, due, want)
		}
		if got || due {
			yes++
		}
	}
	if yes < sequences/100 {
		t.Errorf("%d of %d sequences are a yes: too few to show anything", yes, sequences)
	}
}
