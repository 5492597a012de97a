package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"time"

	"sandboxd/approval"
)

// webhook posts notices to a web service.
type webhook struct {
	Webhook
	pause time.Duration // before the first repetition; four times as long before the second
}

// client follows no redirect: a signed text goes to the configured address only.
var client = &http.Client{Timeout: 10 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (w *webhook) name() string { return w.Webhook.name() }

func (w *webhook) deliver(ctx context.Context, n Notice) error {
	if n.State == Closed && w.Form != "json" && w.Form != "template" {
		return nil // these services show each message as a new one
	}
	p, err := forms[w.Form](w.Webhook, n)
	if err != nil {
		return err
	}
	id := rand.Text()
	for pause := w.pause; ; pause *= 4 {
		again, err := w.post(ctx, id, p)
		if !again || pause > 4*w.pause {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// post sends one request and reports whether a failed one is worth repeating.
func (w *webhook) post(ctx context.Context, id string, p post) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, cmp.Or(p.url, w.URL), bytes.NewReader(p.body))
	if err != nil {
		return false, errors.New("the address is invalid")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "sandboxd")
	if err := w.sign(r.Header, id, p.body); err != nil {
		return false, err
	}
	answer, err := client.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the address may contain a token
		}
		return true, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	again = answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 500
	return again, fmt.Errorf("status %s", answer.Status)
}

// sign adds the headers of Standard Webhooks 1.0.
func (w *webhook) sign(h http.Header, id string, body []byte) error {
	if w.SecretFile == "" {
		return nil
	}
	key, err := os.ReadFile(w.SecretFile)
	if err != nil {
		return err
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, signingKey(bytes.TrimSpace(key)))
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return nil
}

// signingKey returns the bytes of a key: "whsec_" and base64, or the text itself.
func signingKey(text []byte) []byte {
	if encoded, ok := bytes.CutPrefix(text, []byte("whsec_")); ok {
		if key, err := base64.StdEncoding.DecodeString(string(encoded)); err == nil {
			return key
		}
	}
	return text
}

// post is the request for one notice; an empty url is the webhook's.
type post struct {
	url  string
	body []byte
}

type object = map[string]any

// forms make the requests.
var forms = map[string]func(Webhook, Notice) (post, error){
	"json": func(_ Webhook, n Notice) (post, error) { return body(n) },
	"ntfy": ntfy,
	// A text object of type plain_text is not formatted; the outer text is, and has no mark-up of its own.
	"slack": func(_ Webhook, n Notice) (post, error) {
		text := n.Title + "\n" + n.Text
		if n.Link != "" {
			text += "\n" + n.Link
		}
		return body(object{"text": n.Title, "blocks": []object{
			{"type": "section", "text": object{"type": "plain_text", "text": text, "emoji": false}}}})
	},
	"teams":    teams,
	"discord":  discord,
	"template": own,
}

func body(v any) (post, error) {
	b, err := json.Marshal(v)
	return post{body: b}, err
}

// ntfy publishes as JSON: at the service's root, the topic in the text.
func ntfy(w Webhook, n Notice) (post, error) {
	u, err := url.Parse(w.URL)
	if err != nil || strings.Trim(u.Path, "/") == "" {
		return post{}, errors.New("an address of ntfy ends with the topic, such as https://ntfy.example.org/topic")
	}
	message := object{"topic": path.Base(u.Path), "title": n.Title, "message": n.Text, "priority": priority(n.Risk)}
	if n.Link != "" {
		message["click"] = n.Link
	}
	p, err := body(message)
	u.Path = strings.TrimSuffix(path.Dir(u.Path), "/") + "/"
	p.url = u.String()
	return p, err
}

func priority(r approval.Risk) int {
	if r == approval.RiskHigh {
		return 5
	}
	return 4
}

// teams returns an Adaptive Card for a Workflows webhook. The text of a RichTextBlock is not formatted.
func teams(_ Webhook, n Notice) (post, error) {
	var blocks []object
	for i, line := range append([]string{n.Title}, strings.Split(n.Text, "\n")...) {
		run := object{"type": "TextRun", "text": line}
		if i == 0 {
			run["weight"] = "Bolder"
		}
		blocks = append(blocks, object{"type": "RichTextBlock", "inlines": []object{run}})
	}
	card := object{"type": "AdaptiveCard", "version": "1.4", "body": blocks,
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json"}
	if n.Link != "" {
		card["actions"] = []object{{"type": "Action.OpenUrl", "title": "Open", "url": n.Link}}
	}
	return body(object{"type": "message", "attachments": []object{
		{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}})
}

// markdown matches the characters of Discord's formats and links.
var markdown = regexp.MustCompile("[\\\\*_~`|>#<@:()\\[\\]-]")

// discord mentions nobody.
func discord(_ Webhook, n Notice) (post, error) {
	text := markdown.ReplaceAllString(n.Title+"\n"+n.Text, `\$0`)
	if n.Link != "" {
		text += "\n" + n.Link
	}
	return body(object{"content": text, "allowed_mentions": object{"parse": []string{}}})
}

func own(w Webhook, n Notice) (post, error) {
	t, err := template.New("template").Option("missingkey=error").Funcs(template.FuncMap{
		"json": func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
	}).Parse(w.Template)
	if err != nil {
		return post{}, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, n); err != nil {
		return post{}, err
	}
	if !json.Valid(b.Bytes()) {
		return post{}, errors.New("the template does not make JSON: write {{json .Text}} for a text")
	}
	return post{body: b.Bytes()}, nil
}
