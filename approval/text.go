package approval

import (
	"cmp"
	"fmt"
	"strings"
)

// ForAgent returns the text that the model gets for a refusal: the call, the reason, and the next
// step (R-UX-06). It is empty for an approval.
func (d Decision) ForAgent(tool string) string {
	if d.Approved {
		return ""
	}
	if d.How == HowPerson {
		text := fmt.Sprintf("User rejected tool '%s'.", tool)
		if d.Note != "" {
			text += " Feedback: " + d.Note
		}
		if d.Reason == ReasonQuit {
			text += " (" + d.Why + ")"
		}
		if d.Reject == RejectHard {
			return text + "\n\n[System reminder: The rest of this batch was cancelled. Stop here and wait for the user's next " +
				"message.]"
		}
		return text + "\n\n[System reminder: Ask the user what they would prefer instead before trying something similar.]"
	}
	what := fmt.Sprintf("Tool '%s' was not run: ", tool)
	because := func(fallback string) string { return strings.TrimRight(cmp.Or(d.Why, fallback), ".") }
	switch d.Reason {
	case ReasonStopped:
		return what + because("the session was stopped") + ". Do not try other tools; wait for the user's next message."
	case ReasonBlocked:
		text := what + "it is forbidden: " + because("a rule forbids it")
		if d.Rule != "" {
			text += " [" + d.Rule + "]"
		}
		return text + ". Nobody can approve it; find another way or tell the user."
	case ReasonGrant:
		text := what + because("it was denied before")
		if d.Note != "" {
			text += " (" + d.Note + ")"
		}
		return text + ". Do not try it again; ask the user what they would prefer."
	case ReasonWhitelist, ReasonSafeOnly:
		return what + because("it is not permitted") +
			". Use what is permitted, or tell the user that they would have to permit it."
	case ReasonStrict:
		return what + "it needs approval, and nobody is asked in strict mode. Use what needs no approval, or tell the user."
	case ReasonTimeout, ReasonNoApprover:
		return what + because("no person answered") +
			". The user did not deny it; continue with something else or ask the user to be there."
	case ReasonFlood:
		return what + because("too many questions are waiting") + ". Wait until those are answered."
	case ReasonAudit:
		return what + because("it could not be recorded") + ". Tell the user; nothing runs until that is repaired."
	}
	return what + because("it could not be decided") + ". Tell the user if it happens again."
}
