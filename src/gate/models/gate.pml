/* Signal gates: NG gates of one word, the waker's bit of that word with PARKED, and the consumer's sleep. NP producers with NI items
   each; producer p pushes to gate p mod NG. One consumer, or (-DCONS=2) two, which sleep by the scheduler's rules.

   here                in C++
   schedule()          signal_gate::schedule()
   publish()           signal_gate::publish(): bitmap_word::set(), signal_waker::mark() with wake()
   take:               signal_waker::try_take(), signal_word::take()
   round()             signal_gate::begin(); the drain, at most K items; then one of the three ends
   park:               signal_waker::park()

   Sequentially consistent only: tests/model/gate_model.cpp covers loads that see an older value. The items are counted, not queued.
   That hides no error of the gate, but many errors of a queue.

   runs: holds -DNG=1 -DNP=2 -DNI=2
         holds -DNG=2 -DNP=2 -DNI=2
         holds -DNG=2 -DNP=2 -DNI=2 -DK=1
         holds -DNG=2 -DNP=2 -DNI=1 -DCONS=2 -DBACK
         holds -DNG=1 -DNP=2 -DNI=2 -DLOOK_ONLY         schedule does nothing if it loads SCHEDULED: fails only with a store buffer
         fails -DNG=1 -DNP=2 -DNI=2 -DDRAIN_FIRST       the queue is read before begin
         fails -DNG=1 -DNP=2 -DNI=2 -DNO_MARK           finish sets the bit, and does not mark the waker
         fails -DNG=2 -DNP=2 -DNI=2 -DWORD_FIRST        the word is taken before the waker's bit is cleared
         fails -DNG=1 -DNP=2 -DNI=2 -DNO_WAKE           the thread that clears PARKED does not wake the consumer
         fails -DNG=1 -DNP=2 -DNI=2 -DSTORE_PARKED      the consumer parks without a check of the bits
         fails -DNG=1 -DNP=2 -DNI=2 -DK=1 -DFINISH_EARLY   finish although the queue was not seen empty
         fails -DNG=1 -DNP=2 -DNI=1 -DSLEEP_BLIND       the kernel does not compare the word before it blocks the thread
         fails -DNG=2 -DNP=2 -DNI=1 -DCONS=2 -DBLOCK    a consumer keeps the bits of others while it runs a slow handler */
#ifndef K
#define K 2
#endif
#ifndef CONS
#define CONS 1
#endif
#define scheduled 1
#define executing 2

byte flags[NG], queued[NG], inside[NG], word, eaten, started, waiting, permits;
bool mark, parked, asleep;

inline wake() {
#if CONS == 1
  asleep = false
#else
  atomic { if :: waiting > 0 -> waiting--; permits++ :: else fi }
#endif
}

inline mark_active() {
#if CONS == 1
  atomic { was = parked; mark = true; parked = false };
#ifndef NO_WAKE
  if :: was -> wake() :: else fi
#endif
#else
  mark = true;
  wake()
#endif
}

inline publish(g) {
  atomic { was = (word == 0); assert((word & (1 << g)) == 0); word = word | (1 << g) };
  if :: was -> mark_active() :: else fi
}

inline schedule(g) {
#ifdef LOOK_ONLY
  before = flags[g];
  if :: before & scheduled :: else -> atomic { before = flags[g]; flags[g] = before | scheduled } fi;
#else
  atomic { before = flags[g]; flags[g] = before | scheduled };
#endif
  if :: before == 0 -> publish(g) :: else fi
}

inline drain(g) {
  n = 0; dry = false;
  do :: n < K && !dry ->
        atomic { dry = (queued[g] == 0);
                 if :: !dry -> queued[g]--; eaten++; n++ :: else fi };
#ifdef BLOCK
        if :: !dry -> started++; (started >= NG) :: else fi
#endif
     :: else -> break od
}

inline begin(g) {
  atomic { before = flags[g]; flags[g] = executing; assert(before == scheduled); inside[g]++; assert(inside[g] == 1) }
}

inline finish(g) {
  atomic { inside[g]--; before = flags[g]; flags[g] = before & ~executing; assert(before & executing) };
#ifdef NO_MARK
  if :: before & scheduled -> atomic { word = word | (1 << g) } :: else fi
#else
  if :: before & scheduled -> publish(g) :: else fi
#endif
}

inline round(g) {
#ifdef DRAIN_FIRST
  drain(g); begin(g);
#else
  begin(g); drain(g);
#endif
again:
  if :: dry ->
        if :: finish(g)
           :: atomic { before = flags[g];                        /* finish_or_continue */
                       if :: before == executing -> flags[g] = 0; inside[g]--
                          :: else -> assert(before == (scheduled | executing)); flags[g] = executing fi };
              if :: before == executing :: else -> drain(g); goto again fi
        fi
#ifdef FINISH_EARLY
     :: !dry -> finish(g)
#else
     :: !dry -> atomic { before = flags[g]; flags[g] = scheduled; assert(before & executing); inside[g]-- }; publish(g)
#endif
  fi
}

proctype producer(byte g) {
  byte i, before;
  bool was;
  do :: i < NI -> queued[g]++; schedule(g); i++ :: else -> break od
}

proctype consumer() {
  byte bits, g, n, before;
  bool was, dry;
end:
  do :: mark ->
#ifdef WORD_FIRST
        atomic { bits = word; word = 0 }; mark = false;
#else
        mark = false; atomic { bits = word; word = 0 };
#endif
        do :: bits ->
              g = 0;
              do :: !(bits & (1 << g)) -> g++ :: else -> break od;
              bits = bits & ~(1 << g);
#ifdef BACK
              if :: bits -> atomic { was = (word == 0); word = word | bits }; bits = 0;
                            if :: was -> mark_active() :: else fi
                 :: else fi;
#endif
              round(g)
           :: else -> break od
     :: else ->
#if CONS == 1
#ifdef STORE_PARKED
        if :: !mark -> skip :: else -> skip fi; parked = true; was = true;
#else
        atomic { was = !mark; if :: was -> parked = true :: else fi };
#endif
        do :: was && parked ->
#ifdef SLEEP_BLIND
              asleep = true;
#else
              atomic { if :: parked -> asleep = true :: else fi };
#endif
end_sleep:    (!asleep)
           :: else -> break od
#else
        waiting++;
        if :: mark -> atomic { if :: waiting > 0 -> waiting-- :: else -> permits-- fi }
           :: else ->
end_wait:     atomic { permits > 0 -> permits-- }
        fi
#endif
  od
}

active proctype at_the_end() {
  byte g;
  timeout;
  assert(eaten == NP * NI && word == 0);
  do :: g < NG -> assert(flags[g] == 0 && queued[g] == 0); g++ :: else -> break od
}

init {
  byte p;
  atomic {
    do :: p < NP -> run producer(p % NG); p++ :: else -> break od;
    p = 0;
    do :: p < CONS -> run consumer(); p++ :: else -> break od
  }
}
