package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sandboxd/approval"
	"sandboxd/audit"
)

// metrics are the figures of /metrics (R-OP-04). Events are counted from the
// audit log, record by record, so both always agree; no label holds text that a
// stranger chose.
type metrics struct {
	registry   *prometheus.Registry
	records    *prometheus.CounterVec
	decisions  *prometheus.CounterVec
	executions *prometheus.CounterVec
	duration   prometheus.Histogram
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		records: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sandboxd_audit_records_total",
			Help: "Records that are on the disk, by category."}, []string{"category"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sandboxd_decisions_total",
			Help: "Decisions, by what was decided and how (person or auto)."}, []string{"decision", "how"}),
		executions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sandboxd_executions_total",
			Help: "Commands that ended, by how: exited, failed, signal, timeout, limit."}, []string{"end"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sandboxd_execution_seconds",
			Help: "How long commands ran.", Buckets: []float64{.005, .02, .1, .5, 2, 10, 60, 300, 1800}}),
	}
	m.registry.MustRegister(m.records, m.decisions, m.executions, m.duration,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// observe counts a record.
func (m *metrics) observe(r audit.Mirrored) {
	m.records.WithLabelValues(r.Record.Category).Inc()
	switch rec := r.Record; {
	case rec.Category == audit.Decision:
		m.decisions.WithLabelValues(rec.Decision, rec.How).Inc()
	case rec.Category == audit.Execution && rec.Operation == "end":
		m.executions.WithLabelValues(endOf(rec)).Inc()
		m.duration.Observe((time.Duration(rec.DurationMS) * time.Millisecond).Seconds())
	}
}

// endOf is one of five words.
func endOf(r audit.Record) string {
	switch {
	case r.TimedOut:
		return "timeout"
	case len(r.Limits) > 0:
		return "limit"
	case r.Signal != "":
		return "signal"
	case r.Error != "" || r.Exit == nil || *r.Exit != 0:
		return "failed"
	}
	return "exited"
}

// watch adds the gauges, which are computed at each scrape.
func (m *metrics) watch(b *backend) {
	gauge := func(name, help string, f func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f))
	}
	gauge("sandboxd_running", "Commands that run now.", func() float64 { return float64(b.sup.Running()) })
	gauge("sandboxd_pending", "Questions that wait for an answer.",
		func() float64 { return float64(len(b.approvals.Pending(b.operator()))) })
	gauge("sandboxd_grants", "Grants that are in force.",
		func() float64 { return float64(len(b.approvals.Grants(b.operator()))) })
	gauge("sandboxd_approve_all", "1 while everything is approved unasked.", func() float64 {
		return truth(b.approvals.Mode(approval.SessionRef{}).Mode == approval.ModeApproveAll)
	})
	gauge("sandboxd_audit_writable", "1 while records can be written; 0: nothing runs.",
		func() float64 { return truth(b.audit.Err() == nil) })
	gauge("sandboxd_audit_head", "Number of the log's last record.", func() float64 { return float64(b.audit.Head().Seq) })
	gauge("sandboxd_conditions", "What sbx status warns of.", func() float64 { return float64(len(b.conditions())) })
	gauge("sandboxd_start_time_seconds", "When the daemon started, in seconds since 1970.",
		func() float64 { return float64(b.started.Unix()) })
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// serveMetrics answers GET /metrics and nothing else, until ctx ends.
func serveMetrics(ctx context.Context, r *prometheus.Registry, list []net.Listener, log *slog.Logger) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r,
		promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10}
	context.AfterFunc(ctx, func() { server.Close() })
	for _, l := range list {
		go func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				log.Error("metrics are not served", "error", err)
			}
		}()
	}
}
