package process

import (
	"os/exec"
	"runtime"
	"testing"
)

func TestWardenActsWhenThePipeEnds(t *testing.T) {
	runtime.LockOSThread() // Linux ends children with the thread that started them
	defer runtime.UnlockOSThread()
	for _, c := range []struct {
		name string
		end  func(*warden)
		dies bool
	}{
		{"driver gone", func(w *warden) { _ = w.pipe.Close() }, true},
		{"dismissed", (*warden).dismiss, false},
	} {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = attributes(nil)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w, err := guard(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		c.end(w)
		_ = w.cmd.Wait() // so that it has done what it does
		if !c.dies {
			if err := cmd.Process.Kill(); err != nil {
				t.Errorf("%s: the server is gone: %v", c.name, err)
			}
		}
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("%s: the server ended with %v", c.name, err)
		}
	}
}
