package plots

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// drawInto draws a made-up record and returns its figures by name.
func drawInto(t *testing.T, m madeUp, out string) map[string]Figure {
	t.Helper()
	drawn, err := m.study(t).draw(out)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Figure{}
	for _, f := range drawn {
		byName[f.Name] = f
	}
	return byName
}

func TestDrawReadsAFolder(t *testing.T) {
	m := usual()
	m.runs, m.seconds, m.rate, m.profiles = 2, 1, 1000, m.profiles[2:5]
	out := filepath.Join(t.TempDir(), "made", "by", "draw")
	drawn, err := Draw(m.write(t), out)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"cost", "percentiles", "stages", "timeseries"}
	for i, name := range names {
		f := drawn[i]
		want := []string{filepath.Join(out, name+".png"), filepath.Join(out, name+".svg")}
		if f.Name != name || !slices.Equal(f.Files, want) {
			t.Errorf("figure %d is %s in %v, want %v", i, f.Name, f.Files, want)
		}
	}
	// The log holds both distances of setnx-wait: each line has its own.
	percentiles := textsOf(t, drawn[1].Files[1])
	checkWords(t, "percentiles", percentiles, []string{"setnx-wait, replica at 0 ms", "setnx-wait, replica at 1 ms"}, nil)
	checkTexts(t, "percentiles", percentiles)
}

// expected are words that a figure of an input must carry.
var expected = map[string]map[string][]string{
	"usual": {
		"cost": {"setnx-wait", "replica at 1 ms", "replica at 0 ms", "fencing", "P99.9", "acquire: A/A control",
			"96.9 % interval", "24,000 samples a path", "2000/s", "6 runs of 2 s a path", "3 sentinels",
			"no production layout", "1×", "10×", "+1 ms", "Whole job: multiple of setnx"},
		"percentiles": {"99.9 %", "99.99 %", "1 ms", "10 ms", "setnx-wait, replica at 1 ms", "null", "ping",
			"response time, logarithmic", "Whole job"},
		"stages":     {"acquire", "effect", "release", "total", "1 ms", "floor", "mean time per operation, linear"},
		"timeseries": {"P50", "P99", "lag P99", "offered", "achieved", "operations per second", "2 s", "1 ms"},
	},
	"one path": {"cost": {"nothing to compare", "150 µs|14. µs|15. µs"}, "timeseries": {"1 s"}},
	"many paths": {
		"cost": {"INVALID: redlock", "SATURATED: etcd", "zookeeper is left out: no grant in 24,000 operations",
			"round-trips=2, replica at", "lower bound", "lag P99 of 410 µs"},
		"percentiles": {"INVALID", "SATURATED", "etcd (lower bound)", "zookeeper is left out"},
		"stages":      {"INVALID", "SATURATED", "zookeeper is left out"},
		"timeseries":  {"INVALID", "SATURATED", "zookeeper is left out"},
	},
	"huge range": {
		"cost":        {"10,000×", "+1 s", "P99.9 is not drawn: no run of any path has the 3,688 samples it takes"},
		"percentiles": {"1 s", "100 µs"},
		"stages":      {"400 ms"},
	},
	"no effect": {
		"cost":        {"acquire and release only", "servers of the user's own", "Acquire: multiple"},
		"percentiles": {"Response by percentile: acquire"},
	},
	"one run": {
		"cost":   {"INTERRUPTED", "n too small for intervals", "1 run of 2 s a path"},
		"stages": {"INTERRUPTED"},
	},
	"all paths": {
		"cost": {"one server's word", "granted by several servers", "checked by the ledger", "memory of 1/2", "disk of 2/3",
			"disk of 1, memory of 2/2", "no lock to acquire", "multiple", "difference", "connection=shared", "token=etcd", "notify=yes",
			"optimistic takes no lock", "10×"},
		"percentiles": {"acquire (1 of 2)", "floor", "one server's word", "null, below", "setnx-wait connection=shared @1 ms",
			"Broad grey line: setnx", "@: with this round trip", "checked by the ledger", "99.9 %"},
		"percentiles-2": {"the whole job", "(2 of 2)", "optimistic", "setnx-wait @10 ms"},
		"stages":        {"floor", "one server's word", "checked by the ledger", "10.3 ms|10.4 ms", "–"},
		"timeseries": {"P50 and P99, and rates, by kind", "offered, and all keep up", "lag P99, greatest", "setnx-wait connection=shared @1 ms",
			"checked by the ledger", "8 s"},
	},
	"all paths, doubtful": {
		"cost":        {"INVALID: redlock", "waitaof is left out", "≥ 1", "lower bound", "n too small"},
		"percentiles": {"setnx-wait connection=shared @1 ms", "SATURATED", "INVALID"},
		"timeseries":  {"etcd SATURATED", "redlock INVALID"},
	},
	"invalid setnx": {"cost": {"INVALID: setnx", "against INVALID setnx", "the driver stood still for 31 ms"}},
	"nothing":       {"cost": {"Nothing to draw", "4,000 × dial"}, "stages": {"Nothing to draw"}, "percentiles": {"setnx is left out"}},
}

// unexpected are words that a figure of an input must not carry.
var unexpected = map[string]map[string][]string{
	"usual":     {"cost": {"INVALID", "n too small"}, "stages": {"checked by the ledger"}},
	"all paths": {"cost": {"INVALID", "difference from setnx"}, "percentiles": {"optimistic (", "412 ns at P50"}},
	"no effect": {"cost": {"Whole job"}, "percentiles": {"Whole job"}, "stages": {"effect"}},
	"one run":   {"cost": {"% interval"}},
}

func TestEveryFigureOfEveryInput(t *testing.T) {
	all := inputs()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if raceEnabled && name != "invalid setnx" && name != "no effect" {
			continue // drawing is done in one goroutine: two inputs are enough
		}
		t.Run(name, func(t *testing.T) {
			drawn := drawInto(t, all[name], t.TempDir())
			for _, f := range figures {
				if figure, ok := drawn[f.name]; !ok || len(figure.Files) != 2 {
					t.Fatalf("figure %s: files %v", f.name, figure.Files)
				}
			}
			for figure := range expected[name] {
				if _, ok := drawn[figure]; !ok {
					t.Errorf("there is no figure %s", figure)
				}
			}
			for page, figure := range drawn {
				texts := textsOf(t, figure.Files[1])
				checkPNG(t, figure.Files[0], texts)
				checkTexts(t, page, texts)
				checkWords(t, page, texts, expected[name][page], unexpected[name][page])
			}
		})
	}
}

// checkPNG decodes a figure and compares it with the SVG's size.
func checkPNG(t *testing.T, file string, svg svgPage) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	size := img.Bounds().Size()
	if want := int(math.Round(svg.height * pngDPI / 72)); size.X != 1600 || size.Y != want {
		t.Errorf("%s is %v, want 1600 × %d", file, size, want)
	}
	dark, other := 0, 0
	for y := 0; y < size.Y; y += 3 {
		for x := 0; x < size.X; x += 3 {
			r, g, b, _ := img.At(x, y).RGBA()
			switch {
			case r < 0x6000 && g < 0x6000 && b < 0x6000:
				dark++
			case r < 0xf000 || g < 0xf000 || b < 0xf000:
				other++
			}
		}
	}
	if dark < 1000 || other < 200 {
		t.Errorf("%s looks blank: %d dark and %d tinted pixels", file, dark, other)
	}
}

// checkTexts holds every text of a figure against the edges and the others.
func checkTexts(t *testing.T, name string, page svgPage) {
	t.Helper()
	for i, a := range page.texts {
		if a.box.Min.X < 4 || a.box.Max.X > pageWidth-4 || a.box.Min.Y < 0 || float64(a.box.Max.Y) > page.height {
			t.Errorf("%s: %q runs over the edge: %v", name, a.text, a.box)
		}
		for _, b := range page.texts[i+1:] {
			if a.box.Min.X < b.box.Max.X && b.box.Min.X < a.box.Max.X &&
				a.box.Min.Y < b.box.Max.Y && b.box.Min.Y < a.box.Max.Y {
				t.Errorf("%s: %q lies over %q", name, a.text, b.text)
			}
		}
	}
}

// checkWords looks for patterns in the text of a figure.
func checkWords(t *testing.T, name string, page svgPage, want, not []string) {
	t.Helper()
	for _, w := range want {
		if !regexp.MustCompile(pattern(w)).MatchString(page.all) {
			t.Errorf("%s does not say %q", name, w)
		}
	}
	for _, w := range not {
		if strings.Contains(page.all, w) {
			t.Errorf("%s says %q", name, w)
		}
	}
}

// pattern quotes words that are no alternatives.
func pattern(w string) string {
	if strings.Contains(w, "|") {
		return w
	}
	return regexp.QuoteMeta(w)
}

// svgPage is what the tests read from an SVG file.
type svgPage struct {
	height float64
	texts  []svgText // those that are not turned
	all    string    // every text, a line each, and once more in one line
}

// svgText is one text and the room that its letters take.
type svgText struct {
	text string
	box  vg.Rectangle
}

// textsOf parses an SVG file, which must be well-formed.
func textsOf(t *testing.T, file string) svgPage {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(content) > 300_000 {
		t.Errorf("%s has %d bytes: too heavy for a document", file, len(content))
	}
	return parsed(t, file, content)
}

// parsed reads the content of an SVG file.
func parsed(t *testing.T, file string, content []byte) svgPage {
	t.Helper()
	var page svgPage
	decoder := xml.NewDecoder(bytes.NewReader(content))
	var turned []bool // whether each open group turns what is in it
	var lines []string
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s is not well-formed: %v", file, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "svg":
				page.height = number(t, strings.TrimSuffix(attribute(e, "height"), "pt"))
			case "g":
				turned = append(turned, strings.Contains(attribute(e, "transform"), "rotate"))
			case "text":
				var s string
				if err := decoder.DecodeElement(&s, &e); err != nil {
					t.Fatal(err)
				}
				lines = append(lines, s)
				if !slices.Contains(turned, true) {
					page.texts = append(page.texts, svgText{text: s, box: boxOf(t, e, s)})
				}
			}
		case xml.EndElement:
			if e.Name.Local == "g" {
				turned = turned[:len(turned)-1]
			}
		}
	}
	page.all = strings.Join(lines, "\n") + "\n" + strings.Join(lines, " ")
	return page
}

var fontSize = regexp.MustCompile(`font-size:([0-9.]+)px`)

// boxOf is the room of a text's letters, a little less high than the font's
// own box, in points from the page's lower left corner.
func boxOf(t *testing.T, e xml.StartElement, s string) vg.Rectangle {
	t.Helper()
	styling := attribute(e, "style")
	size := vg.Length(number(t, fontSize.FindStringSubmatch(styling)[1]))
	style := textStyle(size, ink)
	if strings.Contains(styling, "font-weight:bold") {
		style = bold(style)
	}
	x, y := vg.Length(number(t, attribute(e, "x"))), -vg.Length(number(t, attribute(e, "y")))
	return vg.Rectangle{
		Min: vg.Point{X: x, Y: y - 0.2*size},
		Max: vg.Point{X: x + style.Width(s), Y: y + 0.72*size},
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRedrawingGivesTheSameBytes(t *testing.T) {
	m := inputs()["one run"]
	m.profiles = m.profiles[2:5]
	dir := m.write(t)
	first, second := t.TempDir(), t.TempDir()
	for _, out := range []string{first, second} {
		if _, err := Draw(dir, out); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range figures {
		for _, kind := range []string{".png", ".svg"} {
			a, errA := os.ReadFile(filepath.Join(first, f.name+kind))
			b, errB := os.ReadFile(filepath.Join(second, f.name+kind))
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("%s%s differs between two drawings (%v, %v)", f.name, kind, errA, errB)
			}
		}
	}
}

func TestFailingPathIsLeftOutAndSaid(t *testing.T) {
	m := usual()
	m.runs, m.seconds = 2, 2
	m.profiles = append(m.profiles[2:3], profile{path: "redlock", failing: true})
	s := m.study(t)
	for _, f := range figures {
		pages, err := f.page(s)
		if err != nil || len(pages) != 1 {
			t.Fatalf("%d pages: %v", len(pages), err)
		}
		p := pages[0]
		if !slices.Contains(p.notes, "redlock is left out: no grant in 8,000 operations, 8,000 × dial.") {
			t.Errorf("%s does not note that redlock is left out: %q", f.name, p.notes)
		}
		svg, err := renderSVG(p)
		if err != nil {
			t.Fatal(err)
		}
		drawn := parsed(t, f.name, svg)
		checkWords(t, f.name, drawn, []string{"redlock is left out"}, nil)
		for _, text := range drawn.texts {
			if text.text == "redlock" {
				t.Errorf("%s draws redlock", f.name)
			}
		}
	}
}

func TestWhatWasNotRunIsSaid(t *testing.T) {
	m := usual()
	m.runs, m.seconds, m.profiles = 1, 1, m.profiles[2:4]
	record := m.record()
	record.Plan.NotRun = []string{"waitaof: this Redis has no WAITAOF"}
	record.Plan.Orders, record.Plan.AcquireTimeoutNS = 4, 1e9
	s, err := newStudy(record, func(results.Path) ([]results.Interval, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	pages, err := costPage(s)
	if err != nil {
		t.Fatal(err)
	}
	svg, err := renderSVG(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	checkWords(t, "cost", parsed(t, "cost", svg), []string{"Not run: waitaof: this Redis has no WAITAOF.", "4 hot orders", "tried for up to 1 s"}, nil)
}

func TestMissingLogIsSaid(t *testing.T) {
	m := usual()
	m.runs, m.seconds, m.profiles = 1, 1, m.profiles[2:4]
	dir := m.write(t)
	if err := os.Remove(filepath.Join(dir, "setnx-wait.hlog")); err != nil {
		t.Fatal(err)
	}
	s, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.notes, func(n string) bool { return strings.Contains(n, "setnx-wait has no interval log") }) {
		t.Errorf("notes: %q", s.notes)
	}
	if len(s.series) != 2 {
		t.Errorf("%d series, want setnx-wait among them: the record has its runs", len(s.series))
	}
}

func TestErrorsSayWhichFile(t *testing.T) {
	m := usual()
	m.runs, m.seconds, m.profiles = 1, 1, m.profiles[2:3]
	dir := m.write(t)
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Draw(dir, filepath.Join(blocked, "figures"))
	if err == nil || !strings.Contains(err.Error(), blocked) {
		t.Errorf("drawing below a file: %v", err)
	}
	out := t.TempDir()
	if err := os.Mkdir(filepath.Join(out, "stages.svg"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err = Draw(dir, out); err == nil || !strings.Contains(err.Error(), "stages.svg") {
		t.Errorf("drawing over a folder: %v", err)
	}
	if _, err = Draw(out, out); err == nil || !strings.Contains(err.Error(), out) {
		t.Errorf("drawing a folder without a run: %v", err)
	}
}

// canvasOf is an area to place plots on without drawing a figure.
func canvasOf(c vg.Canvas) draw.Canvas { return draw.NewCanvas(c, pageWidth, 400) }
