package env_test

import (
	"testing"

	"lockcost/env"
)

func TestParseInfo(t *testing.T) {
	got := env.ParseInfo("# Server\r\nredis_version:7.0.15\r\n\r\nslave0:ip=::1,port=1\r\n")
	if len(got) != 2 || got["redis_version"] != "7.0.15" || got["slave0"] != "ip=::1,port=1" {
		t.Errorf("%q", got)
	}
}

func TestOnlineReplicas(t *testing.T) {
	for text, want := range map[string]int{
		"role:master\r\nconnected_slaves:0\r\n": 0,
		"slave0:ip=127.0.0.1,port=1,state=online,offset=14,lag=0\r\nslave11:ip=::1,port=2,state=online,offset=14,lag=1\r\n": 2,
		"slave0:ip=127.0.0.1,port=1,state=wait_bgsave,offset=0,lag=0\r\n":                                                   0,
		"slave0:ip=127.0.0.1,port=1,state=send_bulk,offset=0,lag=0\r\nslave1:ip=::1,port=2,state=online\r\n":                1,
		"slave_repl_offset:14\r\nslave_x:state=online\r\nslave:state=online\r\n":                                            0,
		"slave0:ip=127.0.0.1,port=1,state=online_not,last_state=online,lag=0\r\n":                                           0,
	} {
		if got := env.OnlineReplicas(env.ParseInfo(text)); got != want {
			t.Errorf("%d online, want %d, in:\n%s", got, want, text)
		}
	}
}
