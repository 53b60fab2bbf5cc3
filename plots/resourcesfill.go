package plots

import (
	"fmt"
	"image/color"
	"maps"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// resourceFill is how a part of a bar is told from the others: by colour, and
// without it by its hatch.
type resourceFill struct {
	role, name string
	color      color.Color
	pattern    fillPattern
}

// fillPattern is a hatch.
type fillPattern int

const (
	plain fillPattern = iota
	rising
	falling
	crossed
	upright
)

// resourceFills are the roles in the order in which they are stacked.
var resourceFills = []resourceFill{
	{results.DriverResources, "driver", midGrey, plain},
	{"primary", "primary", blue, plain},
	{"replica", "replicas", skyBlue, rising},
	{"sentinel", "Sentinels", yellow, falling},
	{"independent", "independent Redis", purple, upright},
	{"etcd", "etcd", green, falling},
	{"zookeeper", "ZooKeeper", vermillion, crossed},
	{"ledger", "ledger", orange, plain},
}

// otherServers are roles without a fill of their own.
var otherServers = resourceFill{"", "others", color.White, crossed}

// byteFills are the parts of the bytes.
var byteFills = []resourceFill{
	{"clients", "clients", blue, plain},
	{"replication", "replication", skyBlue, rising},
}

// resourceBar is a stacked bar. A total that lacks a part is a lower bound.
type resourceBar struct {
	parts []resourcePart
	total float64
	lacks bool
}

type resourcePart struct {
	fill  resourceFill
	value float64
}

func (b *resourceBar) add(fill resourceFill, value float64) {
	if value > 0 {
		b.parts = append(b.parts, resourcePart{fill, value})
		b.total += value
	}
}

// sortedNames are a map's keys in their order.
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// cpuBar stacks CPU time by role, in nanoseconds.
func (r resourceRow) cpuBar() (bar resourceBar) {
	known := map[string]bool{}
	for _, fill := range resourceFills {
		known[fill.role] = true
		if one, ok := r.roles[fill.role]; ok {
			bar.addCPU(fill, one)
		}
	}
	for _, role := range sortedNames(r.roles) {
		if !known[role] {
			bar.addCPU(otherServers, r.roles[role])
		}
	}
	return bar
}

func (b *resourceBar) addCPU(fill resourceFill, r results.Resources) {
	if r.CPUNS == nil {
		b.lacks = true
		return
	}
	b.add(fill, *r.CPUNS)
}

// bytesBar stacks what clients exchanged with servers, and what primaries and
// members sent to others: what a replica received is the same once more.
func (r resourceRow) bytesBar() (bar resourceBar) {
	clients, replication := 0.0, 0.0
	for _, role := range sortedNames(r.roles) {
		one := r.roles[role]
		if role == results.DriverResources {
			continue
		}
		for _, v := range []*float64{one.BytesIn, one.BytesOut} {
			if v == nil {
				bar.lacks = true
				continue
			}
			clients += *v
		}
		if one.ReplicationBytes != nil && role != "replica" {
			replication += *one.ReplicationBytes
		}
	}
	bar.add(byteFills[0], clients)
	bar.add(byteFills[1], replication)
	return bar
}

// resourceTable are the columns of numbers: of the lock's servers, and of the
// ledger.
var resourceTable = []struct {
	head   [2]string
	ledger bool
	of     func(results.Resources) *float64
}{
	{[2]string{"lock", "commands"}, false, func(r results.Resources) *float64 { return r.Commands }},
	{[2]string{"ledger", "statem."}, true, func(r results.Resources) *float64 { return r.Commands }},
	{[2]string{"lock", "syncs"}, false, func(r results.Resources) *float64 { return r.Fsyncs }},
	{[2]string{"ledger", "syncs"}, true, func(r results.Resources) *float64 { return r.Fsyncs }},
}

// cell sums a figure over the roles; "?" where one of them may have more.
func (r resourceRow) cell(ledger bool, of func(results.Resources) *float64) string {
	sum, there, lacks := 0.0, false, false
	for _, role := range sortedNames(r.roles) {
		if role == results.DriverResources || (role == "ledger") != ledger {
			continue
		}
		if v := of(r.roles[role]); v != nil {
			sum, there = sum+*v, true
		} else if role != "sentinel" {
			lacks = true
		}
	}
	switch {
	case lacks && sum < 0.005:
		return "?"
	case !there:
		return "–"
	case lacks:
		return "≥ " + smallNumber(sum)
	}
	return smallNumber(sum)
}

// smallNumber prints a mean count.
func smallNumber(v float64) string {
	switch {
	case v < 0.005:
		return "0"
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// drawFill fills a rectangle, with its hatch and an outline.
func drawFill(c draw.Canvas, fill resourceFill, r vg.Rectangle) {
	c.SetColor(fill.color)
	c.Fill(r.Path())
	height := r.Size().Y
	inside := draw.Canvas{Canvas: c.Canvas, Rectangle: r}
	stripes := func(lean vg.Length) {
		for x := r.Min.X - height; x < r.Max.X+height; x += 4 {
			c.StrokeLines(line(0.5, ink), inside.ClipLinesXY([]vg.Point{{X: x, Y: r.Min.Y}, {X: x + lean, Y: r.Max.Y}})...)
		}
	}
	if fill.pattern == rising || fill.pattern == crossed {
		stripes(height)
	}
	if fill.pattern == falling || fill.pattern == crossed {
		stripes(-height)
	}
	if fill.pattern == upright {
		stripes(0)
	}
	c.SetLineStyle(line(0.4, ink))
	c.Stroke(r.Path())
}
