package main

import "testing"

// What does not fit is scrolled, and cannot be allowed before all of it was on
// the screen; the whole view shows what the card leaves out.
func TestScreenLong(t *testing.T) {
	t.Parallel()
	h := furnished(t, slow)
	done := h.agent().asks(long)
	h.waits(1)
	d := h.sit(60, 36, "--once")
	d.Wait(waits)
	settle()
	d.golden("long-first")
	d.Wait("67 more lines: v shows them")
	d.Press("1")
	d.Wait("Part of this question is hidden")
	d.golden("long-refused")
	d.steps("v", "?> \\d. View all", "Enter", "?all of it", "+")
	d.golden("long-all")
	for range 6 {
		d.Press("PageDown")
	}
	d.steps("?echo line 70", "q", "?quick", "+", "1")
	if got, end := h.decided(), <-done; !got.Allowed || end.Status != 0 || !h.exists("lines.txt") {
		t.Errorf("decided %+v, the agent received %+v, want a yes", got, end)
	}
}

// R-UX-01: a terminal that is too small says so, and answers nothing but no.
func TestScreenTooSmall(t *testing.T) {
	t.Parallel()
	h := furnished(t, slow)
	done := h.agent().asks(plain)
	h.waits(1)
	d := h.sit(20, 8, "--once")
	d.Wait("small to show it")
	settle()
	d.golden("too-small")
	d.Press("1", "y", "Escape")
	h.nothing("on a terminal that is too small")
	d.Resize(24, 24)
	d.Wait("1-[0-9]+ of [0-9]+")
	d.golden("small")
	settle()
	d.steps("C-c", "?again denies", "C-c")
	if end := <-done; end.Note != "cancelled" {
		t.Errorf("the agent received %+v", end)
	}
}
