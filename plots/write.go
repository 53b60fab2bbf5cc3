package plots

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// pngDPI makes pageWidth 1600 pixels: twice the density of a document that
// shows the figure 800 pixels wide.
const pngDPI = 200

// fontFamily is what SVG files ask for. Embedding both weights would add more
// than a megabyte to each file; these families have the same widths, so a
// line of text is as long as it was measured.
const fontFamily = "'Liberation Sans',Arimo,Arial,Helvetica,sans-serif"

// save writes a page as <name>.png and <name>.svg, and returns their paths.
func save(p page, out, name string) ([]string, error) {
	raster, err := renderPNG(p)
	if err != nil {
		return nil, fmt.Errorf("draw figure %s as PNG: %w", name, err)
	}
	vector, err := renderSVG(p)
	if err != nil {
		return nil, fmt.Errorf("draw figure %s as SVG: %w", name, err)
	}
	files := []string{filepath.Join(out, name+".png"), filepath.Join(out, name+".svg")}
	for i, content := range [][]byte{raster, vector} {
		if err := os.WriteFile(files[i], content, 0o644); err != nil {
			return nil, fmt.Errorf("write figure %s: %w", name, err)
		}
	}
	return files, nil
}

// renderPNG draws a page in pixels.
func renderPNG(p page) ([]byte, error) {
	w, h := p.size()
	canvas := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))
	p.draw(draw.NewCanvas(canvas, w, h))
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(&b)
	return b.Bytes(), err
}

// renderSVG draws a page as SVG, in which text is text.
func renderSVG(p page) ([]byte, error) {
	w, h := p.size()
	canvas := vgsvg.NewWith(vgsvg.UseWH(w, h))
	p.draw(draw.NewCanvas(canvas, w, h))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return finished(b.Bytes(), p.title), nil
}

// finished names fallbacks for the font, and gives the document a title for
// those who have it read to them.
func finished(svg []byte, title string) []byte {
	svg = bytes.ReplaceAll(svg,
		[]byte("font-family:Liberation Sans;"), []byte("font-family:"+fontFamily+";"))
	head := bytes.Index(svg, []byte("<svg "))
	end := head + bytes.IndexByte(svg[head:], '>') + 1
	titled := bytes.Clone(svg[:end])
	titled = append(titled, "\n<title>"+html.EscapeString(title)+"</title>"...)
	return append(titled, svg[end:]...)
}

// room returns the part of a canvas between the given margins.
func room(c draw.Canvas, left, right, bottom, top vg.Length) vg.Rectangle {
	return vg.Rectangle{
		Min: vg.Point{X: c.Min.X + left, Y: c.Min.Y + bottom},
		Max: vg.Point{X: c.Max.X - right, Y: c.Max.Y - top},
	}
}
