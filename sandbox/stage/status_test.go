package stage

import (
	"encoding/binary"
	"testing"
	"time"
)

// report is a datagram as cmd/sandboxd-launch/report.c writes it.
func report(step Step, code, alone byte, errno uint32, cpu uint64, text string) []byte {
	b := []byte{byte(step), code, alone, 0}
	b = binary.LittleEndian.AppendUint32(b, errno)
	b = binary.LittleEndian.AppendUint64(b, cpu)
	return append(b, text...)
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		in   []byte
		want Status
	}{
		{report(StepReady, 0, 0, 0, 0, ""), Status{Step: StepReady}},
		{report(StepExec, 127, 0, 2, 0, "execute\x00/bin/x y"),
			Status{Step: StepExec, Code: 127, Message: `execute "/bin/x y": no such file or directory`}},
		{report(StepLandlock, 125, 0, 22, 0, "landlock_restrict_self\x00"),
			Status{Step: StepLandlock, Code: 125, Message: "landlock_restrict_self: invalid argument"}},
	} {
		if got, err := ParseStatus(c.in); err != nil || got != c.want {
			t.Errorf("got %+v, %v, want %+v", got, err, c.want)
		}
	}
	for _, bad := range [][]byte{nil, report(StepReady, 0, 0, 0, 0, "")[:15],
		report(steps, 0, 0, 0, 0, ""), report(StepEnded, 0, 2, 0, 0, "")} {
		if s, err := ParseStatus(bad); err == nil {
			t.Errorf("%x was accepted as %+v", bad, s)
		}
	}
}

func TestEnd(t *testing.T) {
	s, err := ParseStatus(report(StepEnded, 143, 1, 0, 1<<40, ""))
	if err != nil {
		t.Fatal(err)
	}
	if end, err := s.End(); err != nil || end != (End{143, true, time.Duration(1 << 40)}) {
		t.Errorf("%+v, %v", end, err)
	}
	if end, err := (Status{Step: StepReady}).End(); err == nil {
		t.Errorf("%+v is an end", end)
	}
}
