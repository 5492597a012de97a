package notify

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/godbus/dbus/v5"

	"sandboxd/approval"
)

// desktop sends to org.freedesktop.Notifications (Desktop Notifications Specification 1.2).
type desktop struct {
	life context.Context // of the connection
	bus  *dbus.Conn
	ids  map[string]uint32 // the service's id of a question's notice
}

func (*desktop) name() string { return "desktop" }

const (
	service       = "org.freedesktop.Notifications"
	normal   byte = 1
	critical byte = 2
)

func (d *desktop) deliver(ctx context.Context, n Notice) error {
	err := d.call(ctx, n)
	if err != nil && d.bus != nil { // the session may have a new bus
		d.bus.Close()
		d.bus = nil
		err = d.call(ctx, n)
	}
	return err
}

func (d *desktop) call(ctx context.Context, n Notice) error {
	if d.bus == nil {
		bus, err := dbus.Connect(busAddress(), dbus.WithContext(d.life))
		if err != nil {
			return fmt.Errorf("no session bus: %w", err)
		}
		d.bus = bus
	}
	object := d.bus.Object(service, "/org/freedesktop/Notifications")
	if n.State == Closed {
		id, shown := d.ids[n.ID]
		delete(d.ids, n.ID)
		if !shown {
			return nil
		}
		// The person may have closed it: the service answers with an error then.
		_ = object.CallWithContext(ctx, service+".CloseNotification", 0, id).Err
		return nil
	}
	icon, urgency := "dialog-question", normal
	if n.Risk == approval.RiskHigh {
		icon, urgency = "dialog-warning", critical
	}
	text := n.Text
	if n.Link != "" {
		text += "\n" + n.Link
	}
	var id uint32
	hints := map[string]dbus.Variant{
		"urgency": dbus.MakeVariant(urgency), "desktop-entry": dbus.MakeVariant("sandboxd"),
	}
	const never = int32(0) // closed by us
	err := object.CallWithContext(ctx, service+".Notify", 0,
		"sandboxd", d.ids[n.ID], icon, n.Title, escape(text), []string{}, hints, never).Store(&id)
	if err != nil {
		return err
	}
	d.ids[n.ID] = id
	return nil
}

// escape returns text without mark-up, which services may interpret in the body.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace

// busAddress is the address of the session's bus; with systemd, the bus of the user.
func busAddress() string {
	if a := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); a != "" {
		return a
	}
	return fmt.Sprintf("unix:path=/run/user/%d/bus", os.Geteuid())
}
