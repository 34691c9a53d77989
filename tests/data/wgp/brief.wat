;; A WGP/1 grader as a WASM module: the output has at most `config.max` characters (40 without it).
;; It does what brief.py does. A grader in a language with a JSON library would parse the request; this one
;; looks for keys in it, which works because a quote inside of a JSON text is never a bare quote.
(module
  (import "waza_host" "waza_host_read_input" (func $read (param i32 i32) (result i32)))
  (import "waza_host" "waza_host_write_result" (func $write (param i32 i32)))
  (import "waza_host" "waza_host_log" (func $log (param i32 i32)))
  (memory (export "memory") 2)

  ;; What is sought, and the pieces of the response.
  (data (i32.const 0) "\"output\":\"")                                                  ;; 10 bytes
  (data (i32.const 16) "\"config\":{\"max\":")                                          ;; 16
  (data (i32.const 64) "{\"schema\":\"wgp/1\",\"score\":1,\"passed\":true,\"rationale\":\"")    ;; 55
  (data (i32.const 128) "{\"schema\":\"wgp/1\",\"score\":0,\"passed\":false,\"rationale\":\"")  ;; 56
  (data (i32.const 192) " characters, at most ")                                        ;; 21
  (data (i32.const 224) " allowed\",\"evidence\":[{\"kind\":\"span\",\"ref\":\"agent.output[0..")  ;; 60
  (data (i32.const 288) "]\"}],\"metrics\":{\"characters\":")                            ;; 29
  (data (i32.const 320) "}}")                                                           ;; 2
  (data (i32.const 328) "counted")                                                      ;; 7

  (global $request i32 (i32.const 4096))           ;; where the request begins
  (global $end (mut i32) (i32.const 4096))         ;; and where it ends
  (global $response i32 (i32.const 1024))          ;; where the response begins
  (global $filled (mut i32) (i32.const 1024))      ;; and where its next byte goes

  (func $read_all (local $n i32)
    (loop $more
      (if (i32.gt_u (i32.add (global.get $end) (i32.const 65536)) (i32.mul (memory.size) (i32.const 65536)))
        (then (if (i32.lt_s (memory.grow (i32.const 16)) (i32.const 0)) (then unreachable))))
      (local.set $n (call $read (global.get $end) (i32.const 65536)))
      (global.set $end (i32.add (global.get $end) (local.get $n)))
      (br_if $more (local.get $n))))

  ;; The place behind the first occurrence of a text in the request, or 0.
  (func $behind (param $text i32) (param $length i32) (result i32) (local $at i32) (local $i i32)
    (local.set $at (global.get $request))
    (loop $next
      (local.set $i (i32.const 0))
      (block $differs
        (loop $same
          (br_if $differs (i32.ne
            (i32.load8_u (i32.add (local.get $text) (local.get $i)))
            (i32.load8_u (i32.add (local.get $at) (local.get $i)))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $same (i32.lt_u (local.get $i) (local.get $length))))
        (return (i32.add (local.get $at) (local.get $length))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (global.get $end))))
    (i32.const 0))

  ;; How many characters a JSON text has that begins here: one for an escape, none for the later bytes of UTF-8.
  (func $characters (param $at i32) (result i32) (local $byte i32) (local $count i32)
    (loop $next
      (local.set $byte (i32.load8_u (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (if (i32.eq (local.get $byte) (i32.const 0x22)) (then (return (local.get $count))))
      (if (i32.eq (local.get $byte) (i32.const 0x5c))
        (then
          ;; \uXXXX is four bytes longer than \n.
          (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x75))
            (then (local.set $at (i32.add (local.get $at) (i32.const 4)))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))))
      (if (i32.ne (i32.and (local.get $byte) (i32.const 0xc0)) (i32.const 0x80))
        (then (local.set $count (i32.add (local.get $count) (i32.const 1)))))
      (br $next))
    unreachable)

  (func $number (param $at i32) (result i32) (local $digit i32) (local $value i32)
    (loop $next
      (local.set $digit (i32.sub (i32.load8_u (local.get $at)) (i32.const 0x30)))
      (if (i32.lt_u (local.get $digit) (i32.const 10))
        (then
          (local.set $value (i32.add (i32.mul (local.get $value) (i32.const 10)) (local.get $digit)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $next))))
    (local.get $value))

  (func $put (param $text i32) (param $length i32)
    (memory.copy (global.get $filled) (local.get $text) (local.get $length))
    (global.set $filled (i32.add (global.get $filled) (local.get $length))))

  (func $put_number (param $value i32)
    (if (i32.ge_u (local.get $value) (i32.const 10))
      (then (call $put_number (i32.div_u (local.get $value) (i32.const 10)))))
    (i32.store8 (global.get $filled)
      (i32.add (i32.const 0x30) (i32.rem_u (local.get $value) (i32.const 10))))
    (global.set $filled (i32.add (global.get $filled) (i32.const 1))))

  (func (export "grade") (result i32) (local $count i32) (local $most i32) (local $at i32)
    (call $read_all)
    (local.set $count (call $characters (call $behind (i32.const 0) (i32.const 10))))
    (local.set $most (i32.const 40))
    (local.set $at (call $behind (i32.const 16) (i32.const 16)))
    (if (local.get $at) (then (local.set $most (call $number (local.get $at)))))
    (call $log (i32.const 328) (i32.const 7))
    (if (i32.le_u (local.get $count) (local.get $most))
      (then (call $put (i32.const 64) (i32.const 55)))
      (else (call $put (i32.const 128) (i32.const 56))))
    (call $put_number (local.get $count))
    (call $put (i32.const 192) (i32.const 21))
    (call $put_number (local.get $most))
    (call $put (i32.const 224) (i32.const 60))
    (call $put_number (local.get $count))
    (call $put (i32.const 288) (i32.const 29))
    (call $put_number (local.get $count))
    (call $put (i32.const 320) (i32.const 2))
    (call $write (global.get $response) (i32.sub (global.get $filled) (global.get $response)))
    (i32.const 0)))
