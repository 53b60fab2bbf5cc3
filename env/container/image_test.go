package container_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	lockcost "lockcost/env/container"
	"lockcost/env/container/containertest"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// load gives the engine an empty image for an architecture ("" for the
// engine's own), which goes with the test.
func load(t *testing.T, cli *client.Client, architecture string) (image string) {
	t.Helper()
	if architecture == "" {
		v, err := cli.ServerVersion(t.Context(), client.ServerVersionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		architecture = v.Arch
	}
	image = newTag(t, cli)
	layer := archive(t, map[string][]byte{"unique": []byte(image)})
	config := encode(t, map[string]any{
		"architecture": architecture, "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	manifest := encode(t, []any{map[string]any{"Config": "config.json", "RepoTags": []string{image}, "Layers": []string{"layer.tar"}}})
	r, err := cli.ImageLoad(t.Context(), bytes.NewReader(archive(t, map[string][]byte{
		"layer.tar": layer, "config.json": config, "manifest.json": manifest,
	})))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); err != nil || strings.Contains(string(text), "error") {
		t.Fatalf("loading an image: %s %v", text, err)
	}
	return image
}

// commit makes an image of another by a command, which goes with the test.
func commit(t *testing.T, cli *client.Client, base, command string) (image string) {
	t.Helper()
	made, err := cli.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config: &container.Config{Image: base, Entrypoint: []string{"sh", "-c", command}, User: "0"},
	})
	if errdefs.IsNotFound(err) {
		containertest.Need(t, &lockcost.MissingImageError{Image: base, Reason: "a test makes others of it"})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = cli.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	})
	if _, err := cli.ContainerStart(t.Context(), made.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	w := cli.ContainerWait(t.Context(), made.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case r := <-w.Result:
		if r.StatusCode != 0 {
			t.Fatalf("%s: exit status %d", command, r.StatusCode)
		}
	case err := <-w.Error:
		t.Fatal(err)
	}
	image = newTag(t, cli)
	if _, err := cli.ContainerCommit(t.Context(), made.ID, client.ContainerCommitOptions{Reference: image}); err != nil {
		t.Fatal(err)
	}
	return image
}

// newTag returns a name that no image has, and removes the image that gets it
// when the test ends.
func newTag(t *testing.T, cli *client.Client) string {
	t.Helper()
	tag := "localhost/lockcost-test:" + strings.ToLower(rand.Text())
	t.Cleanup(func() {
		if _, err := cli.ImageRemove(context.Background(), tag, client.ImageRemoveOptions{Force: true, PruneChildren: true}); err != nil {
			t.Error(err)
		}
	})
	return tag
}

func archive(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
