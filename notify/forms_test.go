package notify

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sandboxd/approval"
)

// text is a string of the schema of a service: 1 to most characters.
type text string

func (s text) within(most int) bool { return s != "" && utf8.RuneCountInString(string(s)) <= most }

// published has the fields, types and limits that each service documents for its messages, and no others.
var published = map[string]func(body []byte) bool{
	// https://docs.ntfy.sh/publish/#publish-as-json
	"ntfy": func(body []byte) bool {
		var m struct {
			Topic, Title, Message text
			Priority              int
			Click                 string
		}
		return strict(body, &m) && regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`).MatchString(string(m.Topic)) &&
			m.Title.within(250) && len(m.Message) > 0 && len(m.Message) <= 4096 && m.Priority >= 1 && m.Priority <= 5
	},
	// https://docs.slack.dev/reference/block-kit/blocks/section-block
	"slack": func(body []byte) bool {
		var m struct {
			Text   text
			Blocks []struct {
				Type string
				Text struct {
					Type  string
					Text  text
					Emoji *bool
				}
			}
		}
		ok := strict(body, &m) && m.Text.within(40_000) && len(m.Blocks) > 0 && len(m.Blocks) <= 50
		for _, b := range m.Blocks {
			ok = ok && b.Type == "section" && b.Text.Type == "plain_text" && b.Text.Text.within(3000)
		}
		return ok
	},
	// https://adaptivecards.io/schemas/adaptive-card.json; a workflow takes 28 KB.
	"teams": func(body []byte) bool {
		type element struct {
			Type    string
			Inlines []struct{ Type, Text, Weight string }
		}
		var m struct {
			Type        string
			Attachments []struct {
				ContentType string
				Content     struct {
					Schema        string `json:"$schema"`
					Type, Version string
					Body          []element
					Actions       []struct{ Type, Title, URL string }
				}
			}
		}
		if !strict(body, &m) || m.Type != "message" || len(m.Attachments) != 1 || len(body) > 28<<10 {
			return false
		}
		a := m.Attachments[0]
		ok := a.ContentType == "application/vnd.microsoft.card.adaptive" && a.Content.Type == "AdaptiveCard" &&
			a.Content.Version == "1.4" && len(a.Content.Body) > 0
		for _, e := range a.Content.Body {
			ok = ok && e.Type == "RichTextBlock" && len(e.Inlines) == 1 && e.Inlines[0].Type == "TextRun"
		}
		for _, e := range a.Content.Actions {
			ok = ok && e.Type == "Action.OpenUrl" && e.URL != ""
		}
		return ok
	},
	// https://discord.com/developers/docs/resources/webhook#execute-webhook
	"discord": func(body []byte) bool {
		var m struct {
			Content  text
			Mentions struct{ Parse []string } `json:"allowed_mentions"`
		}
		return strict(body, &m) && m.Content.within(2000) && m.Mentions.Parse != nil && len(m.Mentions.Parse) == 0
	},
}

func strict(body []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return utf8.Valid(body) && d.Decode(into) == nil
}

// R-UX-13: whatever the question is, each ready form is valid against what its service publishes.
func TestPublishedForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		long := rapid.OneOf(rapid.String(), rapid.Just(strings.Repeat("_", 3000)), rapid.Just(strings.Repeat("日", 3000)))
		p := approval.Pending{ID: "01J", Risk: rapid.SampledFrom([]approval.Risk{"low", "normal", "high"}).Draw(t, "risk"),
			Deadline: time.Now(), AgentShown: long.Draw(t, "agent"), Tool: long.Draw(t, "tool"),
			Cwd: "/" + long.Draw(t, "cwd"), Description: long.Draw(t, "description")}
		s := &schedule{cfg: Config{
			Share: rapid.SampledFrom([]string{"none", "summary", "command"}).Draw(t, "share"),
			Link:  rapid.SampledFrom([]string{"", "https://approve.example.org/?q={id}"}).Draw(t, "link"),
		}}
		n := s.notice(p, rapid.SampledFrom([]State{Asked, Ending, Closed}).Draw(t, "state"))
		for form, valid := range published {
			made, err := forms[form](Webhook{URL: "https://h.example.org/topic"}, n)
			if err != nil || !valid(made.body) {
				t.Errorf("%s: %v: not valid: %s", form, err, made.body)
			}
		}
	})
}
