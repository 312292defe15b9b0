// node_modules/svelte/src/internal/shared/utils.js
var e = Array.isArray, t = Array.prototype.indexOf, n = Array.prototype.includes, r = Array.from, i = Object.defineProperty, a = Object.getOwnPropertyDescriptor, o = Object.getOwnPropertyDescriptors, s = Object.prototype, c = Array.prototype, l = Object.getPrototypeOf, u = Object.isExtensible, d = () => {};
function f(e) {
	for (var t = 0; t < e.length; t++) e[t]();
}
function p() {
	var e, t;
	return {
		promise: new Promise((n, r) => {
			e = n, t = r;
		}),
		resolve: e,
		reject: t
	};
}
function m(e, t) {
	if (Array.isArray(e)) return e;
	if (t === void 0 || !(Symbol.iterator in e)) return Array.from(e);
	let n = [];
	for (let r of e) if (n.push(r), n.length === t) break;
	return n;
}
var h = 1024, g = 2048, _ = 4096, v = 8192, y = 16384, b = 32768, x = 1 << 25, S = 65536, C = 1 << 19, w = 1 << 20, T = 1 << 25, ee = 1 << 21, te = 1 << 22, ne = 1 << 23, re = Symbol("$state"), ie = Symbol("component"), ae = Symbol("legacy props"), oe = Symbol(""), se = Symbol("attributes"), ce = Symbol("class"), le = Symbol("style"), ue = Symbol("text"), de = Symbol("form reset"), fe = new class extends Error {
	name = "StaleReactionError";
	message = "The reaction that called `getAbortSignal()` was re-run or destroyed";
}(), pe = !!globalThis.document?.contentType && /* @__PURE__ */ globalThis.document.contentType.includes("xml"), me = {}, E = Symbol("uninitialized"), he = "http://www.w3.org/1999/xhtml";
function ge() {
	console.warn("https://svelte.dev/e/derived_inert");
}
function _e(e) {
	console.warn("https://svelte.dev/e/hydration_mismatch");
}
function ve() {
	console.warn("https://svelte.dev/e/svelte_boundary_reset_noop");
}
// node_modules/svelte/src/internal/client/dom/hydration.js
var D = !1;
function ye(e) {
	D = e;
}
var O;
function be(e) {
	if (e === null) throw _e(), me;
	return O = e;
}
function xe() {
	return be(/* @__PURE__ */ en(O));
}
function k(e) {
	if (D) {
		if (/* @__PURE__ */ en(O) !== null) throw _e(), me;
		O = e;
	}
}
function Se(e = 1) {
	if (D) {
		for (var t = e, n = O; t--;) n = /* @__PURE__ */ en(n);
		O = n;
	}
}
function Ce(e = !0) {
	for (var t = 0, n = O;;) {
		if (n.nodeType === 8) {
			var r = n.data;
			if (r === "]") {
				if (t === 0) return n;
				--t;
			} else (r === "[" || r === "[!" || r[0] === "[" && !isNaN(Number(r.slice(1)))) && (t += 1);
		}
		var i = /* @__PURE__ */ en(n);
		e && n.remove(), n = i;
	}
}
function we(e) {
	if (!e || e.nodeType !== 8) throw _e(), me;
	return e.data;
}
// node_modules/svelte/src/internal/client/reactivity/equality.js
function Te(e) {
	return e === this.v;
}
function Ee(e, t) {
	return e == e ? e !== t || typeof e == "object" && !!e || typeof e == "function" : t == t;
}
function De(e) {
	return !Ee(e, this.v);
}
// node_modules/svelte/src/internal/client/errors.js
function Oe() {
	throw Error("https://svelte.dev/e/async_derived_orphan");
}
function ke(e, t, n) {
	throw Error("https://svelte.dev/e/each_key_duplicate");
}
function Ae(e) {
	throw Error("https://svelte.dev/e/effect_in_teardown");
}
function je() {
	throw Error("https://svelte.dev/e/effect_in_unowned_derived");
}
function Me(e) {
	throw Error("https://svelte.dev/e/effect_orphan");
}
function Ne() {
	throw Error("https://svelte.dev/e/effect_update_depth_exceeded");
}
function Pe(e) {
	throw Error("https://svelte.dev/e/props_invalid_value");
}
function Fe() {
	throw Error("https://svelte.dev/e/state_descriptors_fixed");
}
function Ie() {
	throw Error("https://svelte.dev/e/state_prototype_fixed");
}
function Le() {
	throw Error("https://svelte.dev/e/state_unsafe_mutation");
}
function Re() {
	throw Error("https://svelte.dev/e/svelte_boundary_reset_onerror");
}
// node_modules/svelte/src/internal/shared/clone.js
var ze = [];
function Be(e, t = !1, n = !1) {
	return Ve(e, /* @__PURE__ */ new Map(), "", ze, null, n);
}
function Ve(t, n, r, i, a = null, o = !1) {
	if (typeof t == "object" && t) {
		var c = n.get(t);
		if (c !== void 0) return c;
		if (t instanceof Map) return new Map(t);
		if (t instanceof Set) return new Set(t);
		if (e(t)) {
			var u = Array(t.length);
			n.set(t, u), a !== null && n.set(a, u);
			for (var d = 0; d < t.length; d += 1) {
				var f = t[d];
				d in t && (u[d] = Ve(f, n, r, i, null, o));
			}
			return u;
		}
		if (l(t) === s) {
			u = {}, n.set(t, u), a !== null && n.set(a, u);
			for (var p of Object.keys(t)) u[p] = Ve(t[p], n, r, i, null, o);
			return u;
		}
		if (t instanceof Date) return t.getTime(), structuredClone(t);
		if (typeof t.toJSON == "function" && !o) return Ve(t.toJSON(), n, r, i, t);
	}
	if (t instanceof EventTarget) return t;
	try {
		return structuredClone(t);
	} catch {
		return t;
	}
}
// node_modules/svelte/src/internal/client/context.js
var A = null;
function He(e) {
	A = e;
}
function Ue(e, t = !1, n) {
	A = {
		p: A,
		i: !1,
		c: null,
		e: null,
		s: e,
		x: null,
		r: H,
		l: null
	};
}
function We(e) {
	var t = A, n = t.e;
	if (n !== null) {
		t.e = null;
		for (var r of n) hn(r);
	}
	return e !== void 0 && (t.x = e), t.i = !0, A = t.p, Ge(e);
}
function Ge(e = {}) {
	return i(e, ie, { value: !0 }), e;
}
function Ke() {
	return !0;
}
// node_modules/svelte/src/internal/client/dom/task.js
var qe = [];
function Je() {
	var e = qe;
	qe = [], f(e);
}
function Ye(e) {
	if (qe.length === 0 && !xt) {
		var t = qe;
		queueMicrotask(() => {
			t === qe && Je();
		});
	}
	qe.push(e);
}
function Xe() {
	for (; qe.length > 0;) Je();
}
// node_modules/svelte/src/internal/client/reactivity/status.js
var Ze = ~(g | _ | h);
function j(e, t) {
	e.f = e.f & Ze | t;
}
function Qe(e) {
	e.f & 512 || e.deps === null ? j(e, h) : j(e, _);
}
// node_modules/svelte/src/internal/client/reactivity/utils.js
function $e(e, t) {
	e.f & 2048 ? t.set(e, g) : e.f & 4096 && t.get(e) !== 2048 && t.set(e, _), j(e, h);
}
// node_modules/svelte/src/internal/client/dom/elements/misc.js
var et = !1;
function tt() {
	et || (et = !0, document.addEventListener("reset", (e) => {
		Promise.resolve().then(() => {
			if (!e.defaultPrevented) for (let t of e.target.elements) t[de]?.();
		});
	}, { capture: !0 }));
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/shared.js
function nt(e) {
	var t = V, n = H;
	In(null), Ln(null);
	try {
		return e();
	} finally {
		In(t), Ln(n);
	}
}
function rt(e, t, n, r = n) {
	e.addEventListener(t, () => nt(n));
	let i = e[de];
	e[de] = i ? () => {
		i(), r(!0);
	} : () => r(!0), tt();
}
// node_modules/svelte/src/internal/client/reactivity/async.js
function it(e, t, n, r) {
	let i = Ke() ? ct : dt;
	var a = e.filter((e) => !e.settled), o = t.map(i);
	if (n.length === 0 && a.length === 0) {
		r(o);
		return;
	}
	var s = H, c = at(), l = a.length === 1 ? a[0].promise : a.length > 1 ? Promise.all(a.map((e) => e.promise)) : null;
	function u(e) {
		if (!(s.f & 16384)) {
			c();
			try {
				r([...o, ...e]);
			} catch (e) {
				cn(e, s);
			}
			ot();
		}
	}
	var d = st();
	if (n.length === 0) {
		l.then(() => u([])).finally(d);
		return;
	}
	function f() {
		Promise.all(n.map((e) => /* @__PURE__ */ ut(e))).then(u).catch((e) => cn(e, s)).finally(d);
	}
	l ? l.then(() => {
		s.f & 16384 ? d() : (c(), f(), ot());
	}) : f();
}
function at() {
	var e = H, t = V, n = A, r = N;
	return function(i = !0) {
		Ln(e), In(t), He(n), i && !(e.f & 16384) && (r?.activate(), r?.apply());
	};
}
function ot(e = !0) {
	Ln(null), In(null), He(null), e && N?.deactivate();
}
function st() {
	var e = H, t = e.b, n = N, r = !!t?.is_rendered();
	return t?.update_pending_count(1, n), n.increment(r, e), () => {
		t?.update_pending_count(-1, n), n.decrement(r, e);
	};
}
/*#__NO_SIDE_EFFECTS__*/
function ct(e) {
	var t = 2 | g;
	return H !== null && (H.f |= C), {
		ctx: A,
		deps: null,
		effects: null,
		equals: Te,
		f: t,
		fn: e,
		reactions: null,
		rv: 0,
		v: E,
		wv: 0,
		parent: H,
		ac: null
	};
}
var lt = Symbol("obsolete");
/*#__NO_SIDE_EFFECTS__*/
function ut(e, t, n) {
	let r = H;
	r === null && Oe();
	var i = void 0, a = Rt(E), o = !V, s = /* @__PURE__ */ new Set();
	return vn(() => {
		var t = H, n = p();
		i = n.promise;
		try {
			Promise.resolve(e()).then(n.resolve, (e) => {
				e !== fe && n.reject(e);
			}).finally(ot);
		} catch (e) {
			n.reject(e), ot();
		}
		var c = N;
		if (o) {
			if (t.f & 32768) var l = st();
			if (r.b?.is_rendered()) c.async_deriveds.get(t)?.reject(lt);
			else for (let e of s.values()) e.reject(lt);
			s.add(n), c.async_deriveds.set(t, n);
		}
		let u = (e, t = void 0) => {
			l?.(), s.delete(n), t !== lt && (c.activate(), t ? (a.f |= ne, Ht(a, t)) : (a.f & 8388608 && (a.f ^= ne), Ht(a, e)), c.deactivate());
		};
		n.promise.then(u, (e) => u(null, e || "unknown"));
	}), pn(() => {
		for (let e of s) e.reject(lt);
	}), new Promise((e) => {
		function t(n) {
			function r() {
				n === i ? e(a) : t(i);
			}
			n.then(r, r);
		}
		t(i);
	});
}
/*#__NO_SIDE_EFFECTS__*/
function M(e) {
	let t = /* @__PURE__ */ ct(e);
	return zn(t), t;
}
/*#__NO_SIDE_EFFECTS__*/
function dt(e) {
	let t = /* @__PURE__ */ ct(e);
	return t.equals = De, t;
}
function ft(e) {
	var t = e.effects;
	if (t !== null) {
		e.effects = null;
		for (var n = 0; n < t.length; n += 1) B(t[n]);
	}
}
function pt(e) {
	var t, n = H, r = e.parent;
	if (!Nn && r !== null && e.v !== E && r.f & 24576) return ge(), e.v;
	Ln(r);
	try {
		ft(e), t = Xn(e);
	} finally {
		Ln(n);
	}
	return t;
}
function mt(e) {
	var t = pt(e);
	!e.equals(t) && (e.wv = qn(), (!N?.is_fork || e.deps === null) && (N === null ? e.v = t : (N.capture(e, t, !0), vt?.capture(e, t, !0)), e.deps === null)) ? j(e, h) : Nn || (yt === null ? Qe(e) : (fn() || N?.is_fork) && yt.set(e, t));
}
function ht(e) {
	if (e.effects !== null) for (let t of e.effects) (t.teardown || t.ac) && (t.teardown?.(), t.ac !== null && nt(() => {
		t.ac.abort(fe), t.ac = null;
	}), t.fn !== null && (t.teardown = d), $n(t, 0), Cn(t));
}
function gt(e) {
	if (e.effects !== null) for (let t of e.effects) t.teardown && t.fn !== null && er(t);
}
// node_modules/svelte/src/internal/client/reactivity/batch.js
var _t = null, N = null, vt = null, yt = null, bt = null, xt = !1, St = !1, Ct = null, wt = null, Tt = 0, Et = 1, Dt = class e {
	id = Et++;
	started = !1;
	linked = !0;
	prev = null;
	next = null;
	async_deriveds = /* @__PURE__ */ new Map();
	current = /* @__PURE__ */ new Map();
	previous = /* @__PURE__ */ new Map();
	#e = /* @__PURE__ */ new Set();
	#t = /* @__PURE__ */ new Set();
	#n = 0;
	#r = /* @__PURE__ */ new Map();
	#i = null;
	#a = [];
	#o = [];
	#s = /* @__PURE__ */ new Map();
	#c = /* @__PURE__ */ new Map();
	#l = /* @__PURE__ */ new Set();
	is_fork = !1;
	#u = !1;
	constructor() {
		_t === null ? _t = this : (_t.next = this, this.prev = _t), _t = this;
	}
	#d() {
		if (this.is_fork) return !0;
		for (let e of this.#r.keys()) if (!this.#f(e)) return !0;
		return !1;
	}
	#f(e) {
		for (var t = e; t !== null; t = t.parent) if (this.#c.has(t)) return !0;
		return !1;
	}
	skip_effect(e) {
		this.#c.has(e) || this.#c.set(e, {
			d: [],
			m: []
		}), this.#l.delete(e);
	}
	unskip_effect(e, t = (e) => this.schedule(e)) {
		var n = this.#c.get(e);
		if (n) {
			this.#c.delete(e);
			for (var r of n.d) j(r, g), t(r);
			for (r of n.m) j(r, _), t(r);
		}
		this.#l.add(e);
	}
	#p() {
		var e = [];
		for (let i of this.#a) if (!(i.f & 16384 || !(i.f & 6144))) {
			for (var t = i, n = !1; t.parent !== null;) {
				t = t.parent;
				var r = t.f;
				if (r & 96) {
					if (!(r & 1024)) {
						n = !0;
						break;
					}
					t.f ^= h;
				}
			}
			n || e.push(t);
		}
		return this.#a = [], e;
	}
	#m() {
		this.started = !0;
		for (let [e, t] of this.#s) j(e, t), this.schedule(e);
		this.apply();
		for (var t = Ct = [], n = [], r = wt = []; this.#a.length > 0;) {
			Tt++ > 1e3 && (this.#b(), kt());
			for (let e of this.#p()) try {
				this.#h(e, t, n);
			} catch (t) {
				throw Pt(e), this.#d() || this.discard(), t;
			}
		}
		if (N = null, r.length > 0) {
			var i = e.ensure();
			for (let e of r) i.schedule(e);
		}
		if (Ct = null, wt = null, this.#d()) {
			this.#y(n), this.#y(t);
			for (let [e, t] of this.#c) Nt(e, t);
			r.length > 0 && N.#m();
			return;
		}
		let a = this.#g();
		if (a) this.#y(n), this.#y(t), a.#v(this);
		else {
			this.#s.clear();
			for (let e of this.#e) e(this);
			this.#e.clear(), vt = this, jt(n), jt(t), vt = null, this.#i?.resolve();
			var o = N;
			this.#n === 0 && (this.#a.length === 0 || o !== null) && this.#b(), o !== null && (It.clear(), o.#m());
		}
	}
	#h(e, t, n) {
		e.f ^= h;
		for (var r = e.first; r !== null;) {
			var i = r.f, a = !!(i & 96);
			if (!(a && i & 1024 || i & 8192 || this.#c.has(r)) && r.fn !== null) {
				a ? r.f ^= h : i & 4 ? t.push(r) : Jn(r) && (i & 16 && this.add_dirty_reaction(r, _), er(r));
				var o = r.first;
				if (o !== null) {
					r = o;
					continue;
				}
			}
			for (; r !== null;) {
				var s = r.next;
				if (s !== null) {
					r = s;
					break;
				}
				r = r.parent;
			}
		}
	}
	#g() {
		for (var e = this.prev; e !== null; e = e.prev) if (!e.is_fork && this.#_(e)) return e;
		return null;
	}
	#_(e) {
		for (let [t, [, n]] of this.current) if (!n && e.current.has(t)) return !0;
		return !1;
	}
	#v(e) {
		for (let [t, n] of e.current) !this.previous.has(t) && e.previous.has(t) && this.previous.set(t, e.previous.get(t)), this.current.set(t, n);
		for (let [t, n] of e.async_deriveds) {
			let e = this.async_deriveds.get(t);
			e && n.promise.then(e.resolve).catch(e.reject);
		}
		e.async_deriveds.clear(), this.transfer_reactions(e.#s);
		let t = (e) => {
			var n = e.reactions;
			if (n !== null && !(e.f & 2 && !(e.f & 6144))) for (let e of n) {
				var r = e.f;
				if (r & 2) t(e);
				else {
					var i = e;
					r & 4194320 && !this.async_deriveds.has(i) && (this.#s.delete(i), j(i, g), this.schedule(i));
				}
			}
		};
		for (let e of this.current.keys()) t(e);
		this.oncommit(() => e.discard()), e.#b(), N = this, this.#m();
	}
	#y(e) {
		for (var t = 0; t < e.length; t += 1) $e(e[t], this.#s);
	}
	capture(e, t, n = !1) {
		e.v !== E && !this.previous.has(e) && this.previous.set(e, e.v), e.f & 8388608 || (this.current.set(e, [t, n]), yt?.set(e, t)), this.is_fork || (e.v = t);
	}
	activate() {
		N = this;
	}
	deactivate() {
		N = null, yt = null;
	}
	flush() {
		try {
			St = !0, N = this, this.#m();
		} finally {
			Tt = 0, bt = null, Ct = null, wt = null, St = !1, N = null, yt = null, It.clear();
		}
	}
	discard() {
		for (let e of this.#t) e(this);
		this.#t.clear();
		for (let e of this.async_deriveds.values()) e.reject(lt);
		this.#b(), this.#i?.resolve();
	}
	register_created_effect(e) {
		this.#o.push(e);
	}
	increment(e, t) {
		if (this.#n += 1, e) {
			let e = this.#r.get(t) ?? 0;
			this.#r.set(t, e + 1);
		}
	}
	decrement(e, t) {
		if (--this.#n, e) {
			let e = this.#r.get(t) ?? 0;
			e === 1 ? this.#r.delete(t) : this.#r.set(t, e - 1);
		}
		this.#u || (this.#u = !0, Ye(() => {
			this.#u = !1, this.linked && this.flush();
		}));
	}
	transfer_reactions(e) {
		for (let [t, n] of e) this.add_dirty_reaction(t, n);
		e.clear();
	}
	add_dirty_reaction(e, t) {
		(t === 2048 || this.#s.get(e) !== 2048) && this.#s.set(e, t);
	}
	oncommit(e) {
		this.#e.add(e);
	}
	ondiscard(e) {
		this.#t.add(e);
	}
	settled() {
		return (this.#i ??= p()).promise;
	}
	static ensure() {
		if (N === null) {
			let t = N = new e();
			!St && !xt && Ye(() => {
				t.started || t.flush();
			});
		}
		return N;
	}
	apply() {
		yt = null;
	}
	schedule(e) {
		bt = e, e.b?.is_pending && e.f & 16777228 && !(e.f & 32768) ? e.b.defer_effect(e) : this.#a.push(e);
	}
	#b() {
		if (this.linked) {
			var e = this.prev, t = this.next;
			e === null || (e.next = t), t === null ? _t = e : t.prev = e, this.linked = !1;
		}
	}
};
function Ot(e) {
	var t = xt, n = vt;
	vt = null, xt = !0;
	try {
		var r;
		for (e && (Ot(), r = e());;) {
			if (Xe(), N === null) return r;
			N.flush();
		}
	} finally {
		xt = t, vt = n;
	}
}
function kt() {
	try {
		Ne();
	} catch (e) {
		cn(e, bt);
	}
}
var At = null;
function jt(e) {
	var t = e.length;
	if (t !== 0) {
		for (var n = 0; n < t;) {
			var r = e[n++];
			if (!(r.f & 24576) && Jn(r) && (At = /* @__PURE__ */ new Set(), er(r), r.deps === null && r.first === null && r.nodes === null && r.teardown === null && r.ac === null && En(r), At?.size > 0)) {
				It.clear();
				for (let e of At) {
					if (e.f & 24576) continue;
					let t = [e], n = e.parent;
					for (; n !== null;) At.has(n) && (At.delete(n), t.push(n)), n = n.parent;
					for (let e = t.length - 1; e >= 0; e--) {
						let n = t[e];
						n.f & 24576 || er(n);
					}
				}
				At.clear();
			}
		}
		At = null;
	}
}
function Mt(e) {
	N.schedule(e);
}
function Nt(e, t) {
	if (!(e.f & 32 && e.f & 1024)) {
		e.f & 2048 ? t.d.push(e) : e.f & 4096 && t.m.push(e), j(e, h);
		for (var n = e.first; n !== null;) Nt(n, t), n = n.next;
	}
}
function Pt(e) {
	j(e, h);
	for (var t = e.first; t !== null;) Pt(t), t = t.next;
}
// node_modules/svelte/src/internal/client/reactivity/sources.js
var Ft = /* @__PURE__ */ new Set(), It = /* @__PURE__ */ new Map(), Lt = !1;
function Rt(e, t) {
	return {
		f: 0,
		v: e,
		reactions: null,
		equals: Te,
		rv: 0,
		wv: 0
	};
}
/*#__NO_SIDE_EFFECTS__*/
function P(e, t) {
	let n = Rt(e, t);
	return zn(n), n;
}
/*#__NO_SIDE_EFFECTS__*/
function zt(e, t = !1, n = !0) {
	let r = Rt(e);
	return t || (r.equals = De), r;
}
function F(e, t, n = !1) {
	return V !== null && (!Fn || V.f & 131072) && Ke() && V.f & 4325394 && (Rn === null || !Rn.has(e)) && Le(), Ht(e, n ? Kt(t) : t, wt);
}
var Bt = null, Vt = 0;
function Ht(e, t, n = null) {
	if (!e.equals(t)) {
		Nn ? It.set(e, t) : It.has(e) || It.set(e, e.v);
		var r = Dt.ensure();
		if (r.capture(e, t), e.f & 2) {
			let t = e;
			e.f & 2048 && pt(t), yt === null && Qe(t);
		}
		e.wv = qn(), Bt = null, Vt = 0, Gt(e, g, n), Bt = null, Ke() && H !== null && H.f & 1024 && !(H.f & 96) && (Vn === null ? Hn([e]) : Vn.push(e)), !r.is_fork && Ft.size > 0 && !Lt && Ut();
	}
	return t;
}
function Ut() {
	Lt = !1;
	for (let e of Ft) {
		e.f & 1024 && j(e, _);
		let t;
		try {
			t = Jn(e);
		} catch {
			t = !0;
		}
		t && er(e);
	}
	Ft.clear();
}
function Wt(e) {
	F(e, e.v + 1);
}
function Gt(e, t, n) {
	var r = e.reactions;
	if (r !== null) {
		var i = Ke(), a = r.length;
		if (Vt += a, Vt > 1e5 && Bt === null && (Bt = /* @__PURE__ */ new Set()), Bt !== null) {
			if (Bt.has(e)) return;
			Bt.add(e);
		}
		for (var o = 0; o < a; o++) {
			var s = r[o], c = s.f;
			if (i || s !== H) {
				var l = (c & g) === 0;
				if (l && j(s, t), c & 131072) Ft.add(s);
				else if (c & 2) {
					var u = s;
					yt?.delete(u), Gt(u, _, n);
				} else if (l) {
					var d = s;
					c & 16 && At !== null && At.add(d), n === null ? Mt(d) : n.push(d);
				}
			}
		}
	}
}
function Kt(t) {
	if (typeof t != "object" || !t || re in t || ie in t) return t;
	let n = l(t);
	if (n !== s && n !== c) return t;
	var r = /* @__PURE__ */ new Map(), i = e(t), o = /* @__PURE__ */ P(0), u = null, d = Gn, f = (e) => {
		if (Gn === d) return e();
		var t = V, n = Gn;
		In(null), Kn(d);
		var r = e();
		return In(t), Kn(n), r;
	};
	return i && r.set("length", /* @__PURE__ */ P(t.length, u)), new Proxy(t, {
		defineProperty(e, t, n) {
			"value" in n && n.configurable !== !1 && n.enumerable !== !1 && n.writable !== !1 || Fe();
			var i = r.get(t);
			return i === void 0 ? f(() => {
				var e = /* @__PURE__ */ P(n.value, u);
				return r.set(t, e), e;
			}) : F(i, n.value, !0), !0;
		},
		deleteProperty(e, t) {
			var n = r.get(t);
			if (n === void 0) {
				if (t in e) {
					let e = f(() => /* @__PURE__ */ P(E, u));
					r.set(t, e), Wt(o);
				}
			} else F(n, E), Wt(o);
			return !0;
		},
		get(e, n, i) {
			if (n === re) return t;
			var o = r.get(n), s = n in e;
			if (o === void 0 && (!s || a(e, n)?.writable) && (o = f(() => /* @__PURE__ */ P(Kt(s ? e[n] : E), u)), r.set(n, o)), o !== void 0) {
				var c = W(o);
				return c === E ? void 0 : c;
			}
			return Reflect.get(e, n, i);
		},
		getOwnPropertyDescriptor(e, t) {
			this.has?.(e, t);
			var n = Reflect.getOwnPropertyDescriptor(e, t), i = r.get(t);
			if (i !== void 0) {
				var a = W(i);
				if (a === E) return;
				if (n && "value" in n) n.value = a;
				else return {
					enumerable: !0,
					configurable: !0,
					value: a,
					writable: !0
				};
			}
			return n;
		},
		has(e, t) {
			if (t === re) return !0;
			var n = r.get(t), i = n !== void 0 && n.v !== E || Reflect.has(e, t);
			return (n !== void 0 || (H !== null || V !== null) && (!i || a(e, t)?.writable)) && (n === void 0 && (n = f(() => /* @__PURE__ */ P(i ? Kt(e[t]) : E, u)), r.set(t, n)), W(n) === E) ? !1 : i;
		},
		set(e, t, n, s) {
			var c = r.get(t), l = t in e;
			if (i && t === "length") for (var d = n; d < c.v; d += 1) {
				var p = r.get(d + "");
				p === void 0 ? d in e && (p = f(() => /* @__PURE__ */ P(E, u)), r.set(d + "", p)) : F(p, E);
			}
			if (c === void 0) (!l || a(e, t)?.writable) && (c = f(() => /* @__PURE__ */ P(void 0, u)), F(c, Kt(n)), r.set(t, c));
			else {
				l = c.v !== E;
				var m = f(() => Kt(n));
				F(c, m);
			}
			var h = Reflect.getOwnPropertyDescriptor(e, t);
			if (h?.set && h.set.call(s, n), !l) {
				if (i && typeof t == "string") {
					var g = r.get("length"), _ = Number(t);
					Number.isInteger(_) && _ >= g.v && F(g, _ + 1);
				}
				Wt(o);
			}
			return !0;
		},
		ownKeys(e) {
			W(o);
			var t = Reflect.ownKeys(e).filter((e) => {
				var t = r.get(e);
				return t === void 0 || t.v !== E;
			});
			for (var [n, i] of r) i.v !== E && !(n in e) && t.push(n);
			return t;
		},
		setPrototypeOf() {
			Ie();
		}
	});
}
var qt, Jt, Yt, Xt;
function Zt() {
	if (qt === void 0) {
		qt = window, Jt = /Firefox/.test(navigator.userAgent);
		var e = Element.prototype, t = Node.prototype, n = Text.prototype;
		Yt = a(t, "firstChild").get, Xt = a(t, "nextSibling").get, u(e) && (e[ce] = void 0, e[se] = null, e[le] = void 0, e.__e = void 0), u(n) && (n[ue] = void 0);
	}
}
function Qt(e = "") {
	return document.createTextNode(e);
}
/*@__NO_SIDE_EFFECTS__*/
function $t(e) {
	return Yt.call(e);
}
/*@__NO_SIDE_EFFECTS__*/
function en(e) {
	return Xt.call(e);
}
function I(e, t) {
	if (!D) return /* @__PURE__ */ $t(e);
	var n = /* @__PURE__ */ $t(O);
	if (n === null) n = O.appendChild(Qt());
	else if (t && n.nodeType !== 3) {
		var r = Qt();
		return n?.before(r), be(r), r;
	}
	return t && on(n), be(n), n;
}
function tn(e, t = !1) {
	if (!D) {
		var n = /* @__PURE__ */ $t(e);
		return n instanceof Comment && n.data === "" ? /* @__PURE__ */ en(n) : n;
	}
	if (t) {
		if (O?.nodeType !== 3) {
			var r = Qt();
			return O?.before(r), be(r), r;
		}
		on(O);
	}
	return O;
}
function L(e, t = !1) {
	if (!D) return /* @__PURE__ */ $t(e);
	var n = I(e, t);
	return k(e), n;
}
function R(e, t = 1, n = !1) {
	let r = D ? O : e;
	for (var i; t--;) i = r, r = /* @__PURE__ */ en(r);
	if (!D) return r;
	if (n) {
		if (r?.nodeType !== 3) {
			var a = Qt();
			return r === null ? i?.after(a) : r.before(a), be(a), a;
		}
		on(r);
	}
	return be(r), r;
}
function nn(e) {
	e.textContent = "";
}
function rn() {
	return !1;
}
function an(e, t, n) {
	return t == null || t === "http://www.w3.org/1999/xhtml" ? n ? document.createElement(e, { is: n }) : document.createElement(e) : n ? document.createElementNS(t, e, { is: n }) : document.createElementNS(t, e);
}
function on(e) {
	if (e.nodeValue.length < 65536) return;
	let t = e.nextSibling;
	for (; t !== null && t.nodeType === 3;) t.remove(), e.nodeValue += t.nodeValue, t = e.nextSibling;
}
function sn(e) {
	var t = H;
	if (t === null) return V.f |= ne, e;
	if (!(t.f & 32768) && !(t.f & 4)) throw e;
	cn(e, t);
}
function cn(e, t) {
	if (e === me) throw e;
	if (!(t !== null && t.f & 16384)) {
		for (; t !== null;) {
			if (t.f & 128 && !(t.f & 33570816)) {
				if (!(t.f & 32768)) throw e;
				try {
					t.b.error(e);
					return;
				} catch (t) {
					e = t;
				}
			}
			t = t.parent;
		}
		throw e;
	}
}
// node_modules/svelte/src/internal/client/reactivity/effects.js
function ln(e) {
	H === null && (V === null && Me(e), je()), Nn && Ae(e);
}
function un(e, t) {
	var n = t.last;
	n === null ? t.last = t.first = e : (n.next = e, e.prev = n, t.last = e);
}
function dn(e, t) {
	var n = H;
	n !== null && n.f & 8192 && (e |= v);
	var r = {
		ctx: A,
		deps: null,
		nodes: null,
		f: e | g | 512,
		first: null,
		fn: t,
		last: null,
		next: null,
		parent: n,
		b: n && n.b,
		prev: null,
		teardown: null,
		wv: 0,
		ac: null
	};
	N?.register_created_effect(r);
	var i = r;
	if (e & 4) Ct === null ? Dt.ensure().schedule(r) : Ct.push(r);
	else if (t !== null) {
		try {
			er(r);
		} catch (e) {
			throw B(r), e;
		}
		i.deps === null && i.teardown === null && i.nodes === null && i.first === i.last && !(i.f & 524288) && (i = i.first, e & 16 && e & 65536 && i !== null && (i.f |= S));
	}
	if (i !== null && (i.parent = n, n !== null && un(i, n), V !== null && V.f & 2 && !(e & 64))) {
		var a = V;
		(a.effects ??= []).push(i);
	}
	return r;
}
function fn() {
	return V !== null && !Fn;
}
function pn(e) {
	let t = dn(8, null);
	return j(t, h), t.teardown = e, t;
}
function mn(e) {
	ln("$effect");
	var t = H.f;
	if (!V && t & 32 && A !== null && !A.i) {
		var n = A;
		(n.e ??= []).push(e);
	} else return hn(e);
}
function hn(e) {
	return dn(4 | w, e);
}
function gn(e) {
	Dt.ensure();
	let t = dn(64 | C, e);
	return (e = {}) => new Promise((n) => {
		e.outro ? Dn(t, () => {
			B(t), n(void 0);
		}) : (B(t), n(void 0));
	});
}
function _n(e) {
	return dn(4, e);
}
function vn(e) {
	return dn(te | C, e);
}
function yn(e, t = 0) {
	return dn(8 | t, e);
}
function z(e, t = [], n = [], r = []) {
	it(r, t, n, (t) => {
		dn(8, () => {
			e(...t.map(W));
		});
	});
}
function bn(e, t = 0) {
	return dn(16 | t, e);
}
function xn(e) {
	return dn(32 | C, e);
}
function Sn(e) {
	var t = e.teardown;
	if (t !== null) {
		let n = Nn, r = V;
		Pn(!0), In(null);
		try {
			t.call(null);
		} catch (t) {
			cn(t, e.parent);
		} finally {
			Pn(n), In(r);
		}
	}
}
function Cn(e, t = !1) {
	var n = e.first;
	for (e.first = e.last = null; n !== null;) {
		let e = n.ac;
		e !== null && nt(() => {
			e.abort(fe);
		});
		var r = n.next;
		n.f & 64 ? n.parent = null : B(n, t), n = r;
	}
}
function wn(e) {
	for (var t = e.first; t !== null;) {
		var n = t.next;
		t.f & 32 || B(t), t = n;
	}
}
function B(e, t = !0) {
	var n = !1;
	(t || e.f & 262144) && e.nodes !== null && e.nodes.end !== null && (Tn(e.nodes.start, e.nodes.end), n = !0), e.f |= x, Cn(e, t && !n), $n(e, 0);
	var r = e.nodes && e.nodes.t;
	if (r !== null) for (let e of r) e.stop();
	Sn(e), e.f ^= x, e.f |= y;
	var i = e.parent;
	i !== null && i.first !== null && En(e), e.next = e.prev = e.teardown = e.ctx = e.deps = e.fn = e.nodes = e.ac = e.b = null;
}
function Tn(e, t) {
	for (; e !== null;) {
		var n = e === t ? null : /* @__PURE__ */ en(e);
		e.remove(), e = n;
	}
}
function En(e) {
	var t = e.parent, n = e.prev, r = e.next;
	n !== null && (n.next = r), r !== null && (r.prev = n), t !== null && (t.first === e && (t.first = r), t.last === e && (t.last = n));
}
function Dn(e, t, n = !0) {
	var r = [];
	e.f |= 256, On(e, r, !0);
	var i = () => {
		n && B(e), t && t();
	}, a = r.length;
	if (a > 0) {
		var o = () => --a || i();
		for (var s of r) s.out(o);
	} else i();
}
function On(e, t, n) {
	if (!(e.f & 8192)) {
		e.f ^= v;
		var r = e.nodes && e.nodes.t;
		if (r !== null) for (let e of r) (e.is_global || n) && t.push(e);
		for (var i = e.first; i !== null;) {
			var a = i.next;
			if (!(i.f & 64)) {
				var o = !!(i.f & 65536) || !!(i.f & 32) && !!(e.f & 16);
				On(i, t, o ? n : !1);
			}
			i = a;
		}
	}
}
function kn(e) {
	e.f &= -257, An(e, !0);
}
function An(e, t) {
	if (!(e.f & 256) && e.f & 8192) {
		e.f ^= v, e.f & 1024 || (j(e, g), Dt.ensure().schedule(e));
		for (var n = e.first; n !== null;) {
			var r = n.next, i = !!(n.f & 65536) || !!(n.f & 32);
			An(n, i ? t : !1), n = r;
		}
		var a = e.nodes && e.nodes.t;
		if (a !== null) for (let e of a) (e.is_global || t) && e.in();
	}
}
function jn(e, t) {
	if (e.nodes) for (var n = e.nodes.start, r = e.nodes.end; n !== null;) {
		var i = n === r ? null : /* @__PURE__ */ en(n);
		t.append(n), n = i;
	}
}
// node_modules/svelte/src/internal/client/legacy.js
var Mn = null, Nn = !1;
function Pn(e) {
	Nn = e;
}
var V = null, Fn = !1;
function In(e) {
	V = e;
}
var H = null;
function Ln(e) {
	H = e;
}
var Rn = null;
function zn(e) {
	V !== null && (V.f & 2097152 || V.f & 2) && (Rn ??= /* @__PURE__ */ new Set()).add(e);
}
var U = null, Bn = 0, Vn = null;
function Hn(e) {
	Vn = e;
}
var Un = 1, Wn = 0, Gn = Wn;
function Kn(e) {
	Gn = e;
}
function qn() {
	return ++Un;
}
function Jn(e) {
	var t = e.f;
	if (t & 2048) return !0;
	if (t & 4096) {
		for (var n = e.deps, r = n.length, i = 0; i < r; i++) {
			var a = n[i];
			if (Jn(a) && mt(a), a.wv > e.wv) return !0;
		}
		t & 512 && yt === null && j(e, h);
	}
	return !1;
}
function Yn(e, t, n = !0) {
	var r = e.reactions;
	if (r !== null && !(Rn !== null && Rn.has(e))) for (var i = 0; i < r.length; i++) {
		var a = r[i];
		a.f & 2 ? Yn(a, t, !1) : t === a && (n ? j(a, g) : a.f & 1024 && j(a, _), Mt(a));
	}
}
function Xn(e) {
	var t = U, n = Bn, r = Vn, i = V, a = Rn, o = A, s = Fn, c = Gn, l = e.f;
	U = null, Bn = 0, Vn = null, V = l & 96 ? null : e, Rn = null, He(e.ctx), Fn = !1, Gn = ++Wn, e.ac !== null && (nt(() => {
		e.ac.abort(fe);
	}), e.ac = null);
	try {
		e.f |= ee;
		var u = e.fn, d = u();
		e.f |= b;
		var f = Zn(e);
		if (Ke() && Vn !== null && !Fn && f !== null && !(e.f & 6146)) for (var p = 0; p < Vn.length; p++) Yn(Vn[p], e);
		if (i !== null && i !== e) {
			if (Wn++, i.deps !== null) for (let e = 0; e < n; e += 1) i.deps[e].rv = Wn;
			if (t !== null) for (let e of t) e.rv = Wn;
			Vn !== null && (r === null ? r = Vn : r.push(...Vn));
		}
		return e.f & 8388608 && (e.f ^= ne), d;
	} catch (t) {
		return Zn(e), sn(t);
	} finally {
		e.f ^= ee, U = t, Bn = n, Vn = r, V = i, Rn = a, He(o), Fn = s, Gn = c;
	}
}
function Zn(e) {
	var t = e.deps, n = N?.is_fork;
	if (U !== null) {
		var r;
		if (n || $n(e, Bn), t !== null && Bn > 0) for (t.length = Bn + U.length, r = 0; r < U.length; r++) t[Bn + r] = U[r];
		else e.deps = t = U;
		if (fn() && e.f & 512) for (r = Bn; r < t.length; r++) (t[r].reactions ??= []).push(e);
	} else !n && t !== null && Bn < t.length && ($n(e, Bn), t.length = Bn);
	return t;
}
function Qn(e, r) {
	let i = r.reactions;
	if (i !== null) {
		var a = t.call(i, e);
		if (a !== -1) {
			var o = i.length - 1;
			o === 0 ? i = r.reactions = null : (i[a] = i[o], i.pop());
		}
	}
	if (i === null && r.f & 2 && (U === null || !n.call(U, r))) {
		var s = r;
		s.f & 512 && (s.f ^= 512), s.v !== E && Qe(s), s.ac !== null && nt(() => {
			s.ac.abort(fe), s.ac = null, j(s, g);
		}), ht(s), $n(s, 0);
	}
}
function $n(e, t) {
	var n = e.deps;
	if (n !== null) for (var r = t; r < n.length; r++) Qn(e, n[r]);
}
function er(e) {
	var t = e.f;
	if (!(t & 16384)) {
		j(e, h);
		var n = H;
		H = e;
		try {
			t & 16777232 ? wn(e) : Cn(e), Sn(e);
			var r = Xn(e);
			e.teardown = typeof r == "function" ? r : null, e.wv = Un;
		} finally {
			H = n;
		}
	}
}
async function tr() {
	await Promise.resolve(), Ot();
}
function W(e) {
	var t = !!(e.f & 2);
	if (Mn?.add(e), V !== null && !Fn && !(H !== null && H.f & 16384) && (Rn === null || !Rn.has(e))) {
		var r = V.deps;
		if (V.f & 2097152) e.rv < Wn && (e.rv = Wn, U === null && r !== null && r[Bn] === e ? Bn++ : U === null ? U = [e] : U.push(e));
		else {
			V.deps ??= [], n.call(V.deps, e) || V.deps.push(e);
			var i = e.reactions;
			i === null ? e.reactions = [V] : n.call(i, V) || i.push(V);
		}
	}
	if (Nn && It.has(e)) return It.get(e);
	if (t) {
		var a = e;
		if (Nn) {
			var o = a.v;
			return (!(a.f & 1024) && a.reactions !== null || rr(a)) && (o = pt(a)), It.set(a, o), o;
		}
		var s = !(a.f & 512) && !Fn && V !== null && !!(V.f & 512), c = (a.f & b) === 0;
		Jn(a) && (s && (a.f |= 512), mt(a)), s && !c && (gt(a), nr(a));
	}
	if (yt?.has(e)) return yt.get(e);
	if (e.f & 8388608) throw e.v;
	return e.v;
}
function nr(e) {
	if (e.f |= 512, e.deps !== null) for (let r of e.deps) {
		var t = r.reactions;
		t === null ? r.reactions = [e] : n.call(t, e) || t.push(e), r.f & 2 && !(r.f & 512) && (gt(r), nr(r));
	}
}
function rr(e) {
	if (e.v === E) return !0;
	if (e.deps === null) return !1;
	for (let t of e.deps) if (It.has(t) || t.f & 2 && rr(t)) return !0;
	return !1;
}
function ir(e) {
	var t = Fn;
	try {
		return Fn = !0, e();
	} finally {
		Fn = t;
	}
}
[.../* @__PURE__ */ "allowfullscreen.async.autofocus.autoplay.checked.controls.default.disabled.formnovalidate.indeterminate.inert.ismap.loop.multiple.muted.nomodule.novalidate.open.playsinline.readonly.required.reversed.seamless.selected.webkitdirectory.defer.disablepictureinpicture.disableremoteplayback".split(".")];
var ar = ["touchstart", "touchmove"];
function or(e) {
	return ar.includes(e);
}
// node_modules/svelte/src/internal/client/dom/elements/events.js
var sr = Symbol("events"), cr = /* @__PURE__ */ new Set(), lr = /* @__PURE__ */ new Set();
function ur(e, t, n, r = {}) {
	function i(e) {
		if (r.capture || hr.call(t, e), !e.cancelBubble) return nt(() => n?.call(this, e));
	}
	return e.startsWith("pointer") || e.startsWith("touch") || e === "wheel" ? (i.__removed = !1, Ye(() => {
		i.__removed || t.addEventListener(e, i, r);
	})) : t.addEventListener(e, i, r), i;
}
function dr(e, t, n, r, i) {
	var a = {
		capture: r,
		passive: i
	}, o = ur(e, t, n, a);
	(t === document.body || t === window || t === document || t instanceof HTMLMediaElement) && pn(() => {
		o.__removed = !0, t.removeEventListener(e, o, a);
	});
}
function G(e, t, n) {
	(t[sr] ??= {})[e] = n;
}
function fr(e) {
	for (var t = 0; t < e.length; t++) cr.add(e[t]);
	for (var n of lr) n(e);
}
var pr = null, mr = !1;
function hr(e) {
	var t = this, n = t.ownerDocument, r = e.type, a = e.composedPath?.() || [], o = a[0] || e.target;
	pr = e, mr || (mr = !0, setTimeout(() => {
		mr = !1, pr = null;
	}));
	var s = 0, c = pr === e && e[sr];
	if (c) {
		var l = a.indexOf(c);
		if (l !== -1 && (t === document || t === window)) {
			e[sr] = t;
			return;
		}
		var u = a.indexOf(t);
		if (u === -1) return;
		l <= u && (s = l);
	}
	if (o = a[s] || e.target, o !== t) {
		i(e, "currentTarget", {
			configurable: !0,
			get() {
				return o || n;
			}
		});
		var d = V, f = H;
		In(null), Ln(null);
		try {
			for (var p, m = []; o !== null && o !== t;) {
				try {
					var h = o[sr]?.[r];
					h == null || o.disabled && e.target !== o || h.call(o, e);
				} catch (e) {
					p ? m.push(e) : p = e;
				}
				if (e.cancelBubble) break;
				s++, o = s < a.length ? a[s] : null;
			}
			if (p) {
				for (let e of m) queueMicrotask(() => {
					throw e;
				});
				throw p;
			}
		} finally {
			e[sr] = t, delete e.currentTarget, In(d), Ln(f);
		}
	}
}
// node_modules/svelte/src/internal/client/dom/reconciler.js
var gr = globalThis?.window?.trustedTypes && /* @__PURE__ */ globalThis.window.trustedTypes.createPolicy("svelte-trusted-html", { createHTML: (e) => e });
function _r(e) {
	return gr?.createHTML(e) ?? e;
}
function vr(e) {
	var t = an("template");
	return t.innerHTML = _r(e.replaceAll("<!>", "<!---->")), t.content;
}
// node_modules/svelte/src/internal/client/dom/template.js
function yr(e, t) {
	var n = H;
	n.nodes === null && (n.nodes = {
		start: e,
		end: t,
		a: null,
		t: null
	});
}
/*#__NO_SIDE_EFFECTS__*/
function K(e, t) {
	var n = !!(t & 1), r = !!(t & 2), i, a = !e.startsWith("<!>");
	return () => {
		if (D) return yr(O, null), O;
		i === void 0 && (i = vr(a ? e : "<!>" + e), n || (i = /* @__PURE__ */ $t(i)));
		var t = r || Jt ? document.importNode(i, !0) : i.cloneNode(!0);
		if (n) {
			var o = /* @__PURE__ */ $t(t), s = t.lastChild;
			yr(o, s);
		} else yr(t, t);
		return t;
	};
}
/*#__NO_SIDE_EFFECTS__*/
function br(e, t, n = "svg") {
	var r = !e.startsWith("<!>"), i = !!(t & 1), a = `<${n}>${r ? e : "<!>" + e}</${n}>`, o;
	return () => {
		if (D) return yr(O, null), O;
		if (!o) {
			var e = /* @__PURE__ */ $t(vr(a));
			if (i) for (o = document.createDocumentFragment(); /* @__PURE__ */ $t(e);) o.appendChild(/* @__PURE__ */ $t(e));
			else o = /* @__PURE__ */ $t(e);
		}
		var t = o.cloneNode(!0);
		if (i) {
			var n = /* @__PURE__ */ $t(t), r = t.lastChild;
			yr(n, r);
		} else yr(t, t);
		return t;
	};
}
/*#__NO_SIDE_EFFECTS__*/
function q(e, t) {
	return /* @__PURE__ */ br(e, t, "svg");
}
function J(e, t) {
	if (D) {
		var n = H;
		n.f & 32768 && n.nodes.end !== null || (n.nodes.end = O), xe();
	} else e !== null && e.before(t);
}
function xr() {
	if (D && O && O.nodeType === 8 && O.textContent?.startsWith("$")) {
		let e = O.textContent.substring(1);
		return xe(), e;
	}
	return (window.__svelte ??= {}).uid ??= 1, `c${window.__svelte.uid++}`;
}
// node_modules/svelte/src/reactivity/create-subscriber.js
function Sr(e) {
	let t = 0, n = Rt(0), r;
	return () => {
		fn() && (W(n), yn(() => (t === 0 && (r = ir(() => e(() => Wt(n)))), t += 1, () => {
			Ye(() => {
				--t, t === 0 && (r?.(), r = void 0, Wt(n));
			});
		})));
	};
}
// node_modules/svelte/src/internal/client/dom/blocks/boundary.js
var Cr = S | C;
function wr(e, t, n, r) {
	new Tr(e, t, n, r);
}
var Tr = class {
	parent;
	is_pending = !1;
	transform_error;
	#e;
	#t = D ? O : null;
	#n;
	#r;
	#i;
	#a = null;
	#o = null;
	#s = null;
	#c = null;
	#l = 0;
	#u = 0;
	#d = !1;
	#f = /* @__PURE__ */ new Map();
	#p = null;
	#m = Sr(() => (this.#p = Rt(this.#l), () => {
		this.#p = null;
	}));
	constructor(e, t, n, r) {
		this.#e = e, this.#n = t, this.#r = (e) => {
			var t = H;
			t.b = this, t.f |= 128, n(e);
		}, this.parent = H.b, this.transform_error = r ?? this.parent?.transform_error ?? ((e) => e), this.#i = bn(() => {
			if (D) {
				let e = we(this.#t);
				xe();
				let t = e === "[!";
				if (e.startsWith("[?")) {
					let t = JSON.parse(e.slice(2));
					this.#g(t);
				} else t ? this.#y() : this.#h();
			} else this.#b();
		}, Cr), D && (this.#e = O);
	}
	#h() {
		try {
			this.#a = xn(() => this.#r(this.#e));
		} catch (e) {
			this.error(e);
		}
	}
	#g(e) {
		let t = this.#n.failed, { reset: n, invoke_onerror: r } = this.#_(e);
		Ye(r), t && (this.#s = xn(() => {
			t(this.#e, () => e, () => n);
		}));
	}
	#_(e) {
		var t = !1, n = !1;
		let r = () => {
			this.#v() || (t ? ve() : (t = !0, n && Re(), this.#s !== null && Dn(this.#s, () => {
				this.#s = null;
			}), this.#S(() => {
				this.#b();
			})));
		};
		return {
			reset: r,
			invoke_onerror: () => {
				if (!this.#v()) try {
					n = !0, this.#n.onerror?.(e, r), n = !1;
				} catch (e) {
					cn(e, this.#i && this.#i.parent);
				}
			}
		};
	}
	#v() {
		return (this.#i.f & (y | x)) !== 0;
	}
	#y() {
		let e = this.#n.pending;
		e && (this.is_pending = !0, this.#o = xn(() => e(this.#e)), Ye(() => {
			if (!this.#v()) {
				var e = this.#c = document.createDocumentFragment(), t = Qt(), n = !1;
				e.append(t), this.#a = this.#S(() => {
					try {
						return xn(() => this.#r(t));
					} catch (e) {
						try {
							this.error(e), n = !0;
						} catch (e) {
							cn(e, this.#i.parent);
						}
						return null;
					}
				}), this.#a === null ? (this.#c = null, n && this.#x(N)) : this.#u === 0 && (this.#e.before(e), this.#c = null, Dn(this.#o, () => {
					this.#o = null;
				}), this.#x(N));
			}
		}));
	}
	#b() {
		try {
			if (this.is_pending = this.has_pending_snippet(), this.#u = 0, this.#l = 0, this.#a = xn(() => {
				this.#r(this.#e);
			}), this.#u > 0) {
				var e = this.#c = document.createDocumentFragment();
				jn(this.#a, e);
				let t = this.#n.pending;
				this.#o = xn(() => t(this.#e));
			} else this.#x(N);
		} catch (e) {
			this.error(e);
		}
	}
	#x(e) {
		this.is_pending = !1, e.transfer_reactions(this.#f);
	}
	defer_effect(e) {
		$e(e, this.#f);
	}
	is_rendered() {
		return !this.is_pending && (!this.parent || this.parent.is_rendered());
	}
	has_pending_snippet() {
		return !!this.#n.pending;
	}
	#S(e) {
		var t = H, n = V, r = A;
		Ln(this.#i), In(this.#i), He(this.#i.ctx);
		try {
			return Dt.ensure(), e();
		} finally {
			Ln(t), In(n), He(r);
		}
	}
	#C(e, t) {
		this.has_pending_snippet() ? (this.#u += e, this.#u === 0 && (this.#x(t), this.#o && Dn(this.#o, () => {
			this.#o = null;
		}), this.#c &&= (this.#e.before(this.#c), null))) : this.parent && this.parent.#C(e, t);
	}
	update_pending_count(e, t) {
		this.#C(e, t), this.#l += e, !this.#p || this.#d || (this.#d = !0, Ye(() => {
			this.#d = !1, this.#p && Ht(this.#p, this.#l);
		}));
	}
	get_effect_pending() {
		return this.#m(), W(this.#p);
	}
	error(e) {
		if (e === me || !this.#n.onerror && !this.#n.failed) throw e;
		N?.is_fork ? (this.#a && N.skip_effect(this.#a), this.#o && N.skip_effect(this.#o), this.#s && N.skip_effect(this.#s), N.oncommit(() => {
			this.#v() || this.#w(e);
		})) : this.#w(e);
	}
	#w(e) {
		this.#a &&= (B(this.#a), null), this.#o &&= (B(this.#o), null), this.#s &&= (B(this.#s), null), D && (be(this.#t), Se(), be(Ce()));
		let t = this.#n.failed, n = (e) => {
			if (this.#v()) return;
			let { reset: n, invoke_onerror: r } = this.#_(e);
			r(), t && !this.#v() && (this.#s = this.#S(() => {
				try {
					return xn(() => {
						var r = H;
						r.b = this, r.f |= 128, t(this.#e, () => e, () => n);
					});
				} catch (e) {
					return cn(e, this.#i.parent), null;
				}
			}));
		};
		Ye(() => {
			if (!this.#v()) {
				var t;
				try {
					t = this.transform_error(e);
				} catch (e) {
					cn(e, this.#i && this.#i.parent);
					return;
				}
				typeof t == "object" && t && typeof t.then == "function" ? t.then(n, (e) => cn(e, this.#i && this.#i.parent)) : n(t);
			}
		});
	}
};
function Y(e, t) {
	var n = t == null ? "" : typeof t == "object" ? `${t}` : t;
	n !== (e[ue] ??= e.nodeValue) && (e[ue] = n, e.nodeValue = `${n}`);
}
function Er(e, t) {
	return Or(e, t);
}
var Dr = /* @__PURE__ */ new Map();
function Or(e, { target: t, anchor: n, props: i = {}, events: a, context: o, intro: s = !0, transformError: c }) {
	Zt();
	var l = void 0, u = gn(() => {
		var s = n ?? t.appendChild(Qt());
		wr(s, { pending: () => {} }, (t) => {
			Ue({});
			var n = A;
			if (o && (n.c = o), a && (i.$$events = a), D && yr(t, null), l = e(t, i) || Ge(), D && (H.nodes.end = O, O === null || O.nodeType !== 8 || O.data !== "]")) throw _e(), me;
			We();
		}, c);
		var u = /* @__PURE__ */ new Set(), d = (e) => {
			for (var n = 0; n < e.length; n++) {
				var r = e[n];
				if (!u.has(r)) {
					u.add(r);
					var i = or(r);
					for (let e of [t, document]) {
						var a = Dr.get(e);
						a === void 0 && (a = /* @__PURE__ */ new Map(), Dr.set(e, a));
						var o = a.get(r);
						o === void 0 ? (e.addEventListener(r, hr, { passive: i }), a.set(r, 1)) : a.set(r, o + 1);
					}
				}
			}
		};
		return d(r(cr)), lr.add(d), () => {
			for (var e of u) for (let n of [t, document]) {
				var r = Dr.get(n), i = r.get(e);
				--i == 0 ? (n.removeEventListener(e, hr), r.delete(e), r.size === 0 && Dr.delete(n)) : r.set(e, i);
			}
			lr.delete(d), s !== n && s.parentNode?.removeChild(s);
		};
	});
	return kr.set(l, u), l;
}
var kr = /* @__PURE__ */ new WeakMap();
function Ar(e, t) {
	let n = kr.get(e);
	return n ? (kr.delete(e), n(t)) : Promise.resolve();
}
// node_modules/svelte/src/internal/client/dom/blocks/branches.js
var jr = class {
	anchor;
	#e = /* @__PURE__ */ new Map();
	#t = /* @__PURE__ */ new Map();
	#n = /* @__PURE__ */ new Map();
	#r = /* @__PURE__ */ new Set();
	#i = !0;
	constructor(e, t = !0) {
		this.anchor = e, this.#i = t;
	}
	#a = (e) => {
		if (this.#e.has(e)) {
			var t = this.#e.get(e), n = this.#t.get(t);
			if (n) kn(n), this.#r.delete(t);
			else {
				var r = this.#n.get(t);
				r && (kn(r.effect), this.#t.set(t, r.effect), this.#n.delete(t), r.fragment.lastChild.remove(), this.anchor.before(r.fragment), n = r.effect);
			}
			for (let [t, n] of this.#e) {
				if (this.#e.delete(t), t === e) break;
				let r = this.#n.get(n);
				r && (B(r.effect), this.#n.delete(n));
			}
			for (let [e, r] of this.#t) {
				if (e === t || this.#r.has(e)) continue;
				let i = () => {
					if (Array.from(this.#e.values()).includes(e)) {
						var t = document.createDocumentFragment();
						jn(r, t), t.append(Qt()), this.#n.set(e, {
							effect: r,
							fragment: t
						});
					} else B(r);
					this.#r.delete(e), this.#t.delete(e);
				};
				this.#i || !n ? (this.#r.add(e), Dn(r, i, !1)) : i();
			}
		}
	};
	#o = (e) => {
		this.#e.delete(e);
		let t = Array.from(this.#e.values());
		for (let [e, n] of this.#n) t.includes(e) || (B(n.effect), this.#n.delete(e));
	};
	ensure(e, t) {
		var n = N, r = rn();
		if (t && !this.#t.has(e) && !this.#n.has(e)) {
			if (r) {
				var i = document.createDocumentFragment(), a = Qt();
				i.append(a), this.#n.set(e, {
					effect: xn(() => t(a)),
					fragment: i
				});
			} else this.#t.set(e, xn(() => t(this.anchor)));
		}
		if (this.#e.set(n, e), r) {
			for (let [t, r] of this.#t) t === e ? n.unskip_effect(r) : n.skip_effect(r);
			for (let [t, r] of this.#n) t === e ? n.unskip_effect(r.effect) : n.skip_effect(r.effect);
			n.oncommit(this.#a), n.ondiscard(this.#o);
		} else D && (this.anchor = O), this.#a(n);
	}
};
// node_modules/svelte/src/internal/client/dom/blocks/if.js
function X(e, t, n = !1) {
	var r;
	D && (r = O, xe());
	var i = new jr(e), a = n ? S : 0;
	function o(e, t) {
		if (D) {
			var n = we(r);
			if (e !== parseInt(n.substring(1))) {
				var a = Ce();
				be(a), i.anchor = a, ye(!1), i.ensure(e, t), ye(!0);
				return;
			}
		}
		i.ensure(e, t);
	}
	bn(() => {
		var e = !1;
		t((t, n = 0) => {
			e = !0, o(n, t);
		}), e || o(-1, null);
	}, a);
}
// node_modules/svelte/src/internal/client/dom/blocks/each.js
function Mr(e, t) {
	return t;
}
function Nr(e, t, n) {
	for (var i = [], a = t.length, o, s = t.length, c = 0; c < a; c++) {
		let n = t[c];
		Dn(n, () => {
			if (o) {
				if (o.pending.delete(n), o.done.add(n), o.pending.size === 0) {
					var t = e.outrogroups;
					Pr(e, r(o.done)), t.delete(o), t.size === 0 && (e.outrogroups = null);
				}
			} else --s;
		}, !1);
	}
	if (s === 0) {
		var l = i.length === 0 && n !== null && e.pending.size === 0;
		if (l) {
			var u = n, d = u.parentNode;
			nn(d), d.append(u), e.items.clear();
		}
		Pr(e, t, !l);
	} else o = {
		pending: new Set(t),
		done: /* @__PURE__ */ new Set()
	}, (e.outrogroups ??= /* @__PURE__ */ new Set()).add(o);
}
function Pr(e, t, n = !0) {
	var r;
	if (e.pending.size > 0) {
		r = /* @__PURE__ */ new Set();
		for (let t of e.pending.values()) for (let n of t) r.add(e.items.get(n).e);
	}
	for (var i = 0; i < t.length; i++) {
		var a = t[i];
		r?.has(a) ? (a.f |= T, jn(a, document.createDocumentFragment())) : B(t[i], n);
	}
}
var Fr;
function Z(t, n, i, a, o, s = null) {
	var c = t, l = /* @__PURE__ */ new Map();
	if (n & 4) {
		var u = t;
		c = D ? be(/* @__PURE__ */ $t(u)) : u.appendChild(Qt());
	}
	D && xe();
	var d = null, f = /* @__PURE__ */ dt(() => {
		var t = i();
		return e(t) ? t : t == null ? [] : r(t);
	}), p = /* @__PURE__ */ new Map(), m = !0;
	function h(e) {
		if (!(_.effect.f & 16384)) {
			_.pending.delete(e);
			var t = W(f);
			_.fallback = d, Lr(_, t, c, n, a), d !== null && (t.length === 0 ? d.f & 33554432 ? (d.f ^= T, zr(d, null, c)) : kn(d) : Dn(d, () => {
				d = null;
			}));
		}
	}
	function g(e) {
		_.pending.delete(e);
	}
	var _ = {
		effect: bn(() => {
			var e = W(f), t = e.length;
			let r = !1;
			D && we(c) === "[!" != (t === 0) && (c = Ce(), be(c), ye(!1), r = !0);
			for (var u = /* @__PURE__ */ new Set(), _ = N, v = rn(), y = 0; y < t; y += 1) {
				D && O.nodeType === 8 && O.data === "]" && (c = O, r = !0, ye(!1));
				var b = e[y], x = a(b, y), S = m ? null : l.get(x);
				S ? (S.v && Ht(S.v, b), S.i && Ht(S.i, y), v && _.unskip_effect(S.e)) : (S = Rr(l, m ? c : Fr ??= Qt(), b, x, y, o, n, i), m || (S.e.f |= T), l.set(x, S)), u.add(x);
			}
			if (t === 0 && s && !d && (m ? d = xn(() => s(c)) : (d = xn(() => s(Fr ??= Qt())), d.f |= T)), t > u.size && ke("", "", ""), D && t > 0 && be(Ce()), !m) {
				if (p.set(_, u), v) {
					for (let [e, t] of l) u.has(e) || _.skip_effect(t.e);
					_.oncommit(h), _.ondiscard(g);
				} else h(_);
			}
			r && ye(!0), W(f);
		}),
		flags: n,
		items: l,
		pending: p,
		outrogroups: null,
		fallback: d
	};
	m = !1, D && (c = O);
}
function Ir(e) {
	for (; e !== null && !(e.f & 32);) e = e.next;
	return e;
}
function Lr(e, t, n, i, a) {
	var o = !!(i & 8), s = t.length, c = e.items, l = Ir(e.effect.first), u, d = null, f, p = [], m = [], h, g, _, v;
	if (o) for (v = 0; v < s; v += 1) h = t[v], g = a(h, v), _ = c.get(g).e, _.f & 33554432 || (_.nodes?.a?.measure(), (f ??= /* @__PURE__ */ new Set()).add(_));
	for (v = 0; v < s; v += 1) {
		if (h = t[v], g = a(h, v), _ = c.get(g).e, e.outrogroups !== null) for (let t of e.outrogroups) t.pending.delete(_), t.done.delete(_);
		if (_.f & 8192 && (kn(_), o && (_.nodes?.a?.unfix(), (f ??= /* @__PURE__ */ new Set()).delete(_))), _.f & 33554432) {
			if (_.f ^= T, _ === l) zr(_, null, n);
			else {
				var y = d ? d.next : l;
				_ === e.effect.last && (e.effect.last = _.prev), _.prev && (_.prev.next = _.next), _.next && (_.next.prev = _.prev), Br(e, d, _), Br(e, _, y), zr(_, y, n), d = _, p = [], m = [], l = Ir(d.next);
				continue;
			}
		}
		if (_ !== l) {
			if (u !== void 0 && u.has(_)) {
				if (p.length < m.length) {
					var b = m[0], x;
					d = b.prev;
					var S = p[0], C = p[p.length - 1];
					for (x = 0; x < p.length; x += 1) zr(p[x], b, n);
					for (x = 0; x < m.length; x += 1) u.delete(m[x]);
					Br(e, S.prev, C.next), Br(e, d, S), Br(e, C, b), l = b, d = C, --v, p = [], m = [];
				} else u.delete(_), zr(_, l, n), Br(e, _.prev, _.next), Br(e, _, d === null ? e.effect.first : d.next), Br(e, d, _), d = _;
				continue;
			}
			for (p = [], m = []; l !== null && l !== _;) (u ??= /* @__PURE__ */ new Set()).add(l), m.push(l), l = Ir(l.next);
			if (l === null) continue;
		}
		_.f & 33554432 || p.push(_), d = _, l = Ir(_.next);
	}
	if (e.outrogroups !== null) {
		for (let t of e.outrogroups) t.pending.size === 0 && (Pr(e, r(t.done)), e.outrogroups?.delete(t));
		e.outrogroups.size === 0 && (e.outrogroups = null);
	}
	if (l !== null || u !== void 0) {
		var w = [];
		if (u !== void 0) for (_ of u) _.f & 8192 || w.push(_);
		for (; l !== null;) !(l.f & 8192) && l !== e.fallback && w.push(l), l = Ir(l.next);
		var ee = w.length;
		if (ee > 0) {
			var te = i & 4 && s === 0 ? n : null;
			if (o) {
				for (v = 0; v < ee; v += 1) w[v].nodes?.a?.measure();
				for (v = 0; v < ee; v += 1) w[v].nodes?.a?.fix();
			}
			Nr(e, w, te);
		}
	}
	o && Ye(() => {
		if (f !== void 0) for (_ of f) _.nodes?.a?.apply();
	});
}
function Rr(e, t, n, r, i, a, o, s) {
	var c = o & 1 ? o & 16 ? Rt(n) : /* @__PURE__ */ zt(n, !1, !1) : null, l = o & 2 ? Rt(i) : null;
	return {
		v: c,
		i: l,
		e: xn(() => (a(t, c ?? n, l ?? i, s), () => {
			e.delete(r);
		}))
	};
}
function zr(e, t, n) {
	if (e.nodes) for (var r = e.nodes.start, i = e.nodes.end, a = t && !(t.f & 33554432) ? t.nodes.start : n; r !== null;) {
		var o = /* @__PURE__ */ en(r);
		if (a.before(r), r === i) return;
		r = o;
	}
}
function Br(e, t, n) {
	t === null ? e.effect.first = n : t.next = n, n === null ? e.effect.last = t : n.prev = t;
}
// node_modules/clsx/dist/clsx.mjs
function Vr(e) {
	var t, n, r = "";
	if (typeof e == "string" || typeof e == "number") r += e;
	else if (typeof e == "object") {
		if (Array.isArray(e)) {
			var i = e.length;
			for (t = 0; t < i; t++) e[t] && (n = Vr(e[t])) && (r && (r += " "), r += n);
		} else for (n in e) e[n] && (r && (r += " "), r += n);
	}
	return r;
}
function Hr() {
	for (var e, t, n = 0, r = "", i = arguments.length; n < i; n++) (e = arguments[n]) && (t = Vr(e)) && (r && (r += " "), r += t);
	return r;
}
// node_modules/svelte/src/internal/shared/attributes.js
function Ur(e) {
	return typeof e == "object" ? Hr(e) : e ?? "";
}
var Wr = [..." 	\n\r\f\xA0\v﻿"];
function Gr(e, t, n) {
	var r = e == null ? "" : "" + e;
	if (t && (r = r ? r + " " + t : t), n) {
		for (var i of Object.keys(n)) if (n[i]) r = r ? r + " " + i : i;
		else if (r.length) for (var a = i.length, o = 0; (o = r.indexOf(i, o)) >= 0;) {
			var s = o + a;
			(o === 0 || Wr.includes(r[o - 1])) && (s === r.length || Wr.includes(r[s])) ? r = (o === 0 ? "" : r.substring(0, o)) + r.substring(s + 1) : o = s;
		}
	}
	return r === "" ? null : r;
}
function Kr(e, t = !1) {
	var n = t ? " !important;" : ";", r = "";
	for (var i of Object.keys(e)) {
		var a = e[i];
		a != null && a !== "" && (r += " " + i + ": " + a + n);
	}
	return r;
}
function qr(e) {
	return e[0] !== "-" || e[1] !== "-" ? e.toLowerCase() : e;
}
function Jr(e, t) {
	if (t) {
		var n = "", r, i;
		if (Array.isArray(t) ? (r = t[0], i = t[1]) : r = t, e) {
			e = String(e).replaceAll(/\/\*.*?\*\//g, "").trim();
			var a = !1, o = 0, s = !1, c = [];
			r && c.push(...Object.keys(r).map(qr)), i && c.push(...Object.keys(i).map(qr));
			var l = 0, u = -1;
			let t = e.length;
			for (var d = 0; d < t; d++) {
				var f = e[d];
				if (s ? f === "/" && e[d - 1] === "*" && (s = !1) : a ? a === f && (a = !1) : f === "/" && e[d + 1] === "*" ? s = !0 : f === "\"" || f === "'" ? a = f : f === "(" ? o++ : f === ")" && o--, !s && a === !1 && o === 0) {
					if (f === ":" && u === -1) u = d;
					else if (f === ";" || d === t - 1) {
						if (u !== -1) {
							var p = qr(e.substring(l, u).trim());
							if (!c.includes(p)) {
								f !== ";" && d++;
								var m = e.substring(l, d).trim();
								n += " " + m + ";";
							}
						}
						l = d + 1, u = -1;
					}
				}
			}
		}
		return r && (n += Kr(r)), i && (n += Kr(i, !0)), n = n.trim(), n === "" ? null : n;
	}
	return e == null ? null : String(e);
}
// node_modules/svelte/src/internal/client/dom/elements/class.js
function Yr(e, t, n, r, i, a) {
	var o = e[ce];
	if (D || o !== n || o === void 0) {
		var s = Gr(n, r, a);
		D && s === e.getAttribute("class") || (s == null ? e.removeAttribute("class") : t ? e.className = s : e.setAttribute("class", s)), e[ce] = n;
	} else if (a && i !== a) for (var c in a) {
		var l = !!a[c];
		(i == null || l !== !!i[c]) && e.classList.toggle(c, l);
	}
	return a;
}
// node_modules/svelte/src/internal/client/dom/elements/style.js
function Xr(e, t = {}, n, r) {
	for (var i in n) {
		var a = n[i];
		t[i] !== a && (n[i] == null ? e.style.removeProperty(i) : e.style.setProperty(i, a, r));
	}
}
function Zr(e, t, n, r) {
	var i = e[le];
	if (D || i !== t) {
		var a = Jr(t, r);
		D && a === e.getAttribute("style") || (a == null ? e.removeAttribute("style") : e.style.cssText = a), e[le] = t;
	} else r && (Array.isArray(r) ? (Xr(e, n?.[0], r[0]), Xr(e, n?.[1], r[1], "important")) : Xr(e, n, r));
	return r;
}
// node_modules/svelte/src/internal/client/dom/elements/attributes.js
var Qr = Symbol("is custom element"), $r = Symbol("is html"), ei = pe ? "link" : "LINK", ti = pe ? "progress" : "PROGRESS";
function ni(e) {
	if (D) {
		var t = !1, n = () => {
			if (!t) {
				if (t = !0, e.hasAttribute("value")) {
					var n = e.value;
					Q(e, "value", null), e.value = n;
				}
				if (e.hasAttribute("checked")) {
					var r = e.checked;
					Q(e, "checked", null), e.checked = r;
				}
			}
		};
		e[de] = n, Ye(n), tt();
	}
}
function ri(e, t) {
	var n = ii(e);
	n.value !== (n.value = t ?? void 0) && (e.value !== t || t === 0 && e.nodeName === ti) && (e.value = t ?? "");
}
function Q(e, t, n, r) {
	var i = ii(e);
	if (!(D && (i[t] = e.getAttribute(t), t === "src" || t === "srcset" || t === "href" && e.nodeName === ei))) {
		var a = i[t];
		a !== (i[t] = n) && (t === "loading" && (e[oe] = n), n == null ? e.removeAttribute(t) : typeof n != "string" && oi(e).has(t) ? e[t] = n : (!D || typeof n != "number" && typeof n != "boolean" || a !== String(n)) && e.setAttribute(t, n));
	}
}
function ii(e) {
	return e[se] ??= {
		[Qr]: e.nodeName.includes("-"),
		[$r]: e.namespaceURI === he
	};
}
var ai = /* @__PURE__ */ new Map();
function oi(e) {
	var t = e.getAttribute("is") || e.nodeName, n = ai.get(t);
	if (n) return n;
	ai.set(t, n = /* @__PURE__ */ new Set());
	for (var r, i = e, a = Element.prototype; a !== i;) {
		for (var s in r = o(i), r) r[s].set && s !== "innerHTML" && s !== "textContent" && s !== "innerText" && n.add(s);
		i = l(i);
	}
	return n;
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/input.js
function si(e, t, n = t) {
	var r = /* @__PURE__ */ new WeakSet();
	rt(e, "input", async (i) => {
		var a = i ? e.defaultValue : e.value;
		if (a = ci(e) ? li(a) : a, n(a), N !== null && r.add(N), await tr(), a !== (a = t())) {
			var o = e.selectionStart, s = e.selectionEnd, c = e.value.length;
			if (e.value = a ?? "", s !== null) {
				var l = e.value.length;
				o === s && s === c && l > c ? (e.selectionStart = l, e.selectionEnd = l) : (e.selectionStart = o, e.selectionEnd = Math.min(s, l));
			}
		}
	}), (D && e.defaultValue !== e.value || ir(t) == null && e.value) && (n(ci(e) ? li(e.value) : e.value), N !== null && r.add(N)), yn(() => {
		var n = t();
		if (e === document.activeElement) {
			var i = N;
			if (r.has(i)) return;
		}
		ci(e) && n === li(e.value) || (e.type !== "date" || n || e.value) && n !== e.value && (e.value = n ?? "");
	});
}
function ci(e) {
	var t = e.type;
	return t === "number" || t === "range";
}
function li(e) {
	return e === "" ? null : +e;
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/this.js
function ui(e, t) {
	return e === t || e?.[re] === t;
}
function di(e = Ge(), t, n, r) {
	var i = A.r, a = H;
	return _n(() => {
		var o, s;
		return yn(() => {
			o = s, s = r?.() || [], ir(() => {
				ui(n(...s), e) || (t(e, ...s), o && ui(n(...o), e) && t(null, ...o));
			});
		}), () => {
			let r = a;
			for (; r !== i && r.parent !== null && r.parent.f & 33554432;) r = r.parent;
			let o = () => {
				s && ui(n(...s), e) && t(null, ...s);
			}, c = r.teardown;
			r.teardown = () => {
				o(), c?.();
			};
		};
	}), e;
}
// node_modules/svelte/src/internal/client/reactivity/store.js
var fi = !1;
function pi(e) {
	var t = fi;
	try {
		return fi = !1, [e(), fi];
	} finally {
		fi = t;
	}
}
// node_modules/svelte/src/internal/client/reactivity/props.js
function mi(e, t, n, r) {
	var i = !0, o = !!(n & 8), s = !!(n & 16), c = r, l = !0, u = void 0, d = () => s && i ? (u ??= /* @__PURE__ */ ct(r), W(u)) : (l && (l = !1, c = s ? ir(r) : r), c);
	let f;
	if (o) {
		var p = re in e || ae in e;
		f = a(e, t)?.set ?? (p && t in e ? (n) => e[t] = n : void 0);
	}
	var m, h = !1;
	o ? [m, h] = pi(() => e[t]) : m = e[t], m === void 0 && r !== void 0 && (m = d(), f && (i && Pe(t), f(m)));
	var g = i ? () => {
		var n = e[t];
		return n === void 0 ? d() : (l = !0, n);
	} : () => {
		var n = e[t];
		return n !== void 0 && (c = void 0), n === void 0 ? c : n;
	};
	if (i && !(n & 4)) return g;
	if (f) {
		var _ = e.$$legacy;
		return (function(e, t) {
			return arguments.length > 0 ? ((!i || !t || _ || h) && f(t ? g() : e), e) : g();
		});
	}
	var v = !1, y = (n & 1 ? ct : dt)(() => (v = !1, g()));
	o && W(y);
	var b = H;
	return (function(e, t) {
		if (arguments.length > 0) {
			let n = t ? W(y) : i && o ? Kt(e) : e;
			return F(y, n), v = !0, c !== void 0 && (c = n), e;
		}
		return Nn && v || b.f & 16384 ? y.v : W(y);
	});
}
var hi = (e) => e.reduce((e, t) => e * t, 1);
function gi(e, t, n) {
	let r = /* @__PURE__ */ new Map(), i = 1;
	for (let e = t.length - 1; e >= 0; e--) r.set(t[e], i), i *= n[t[e]];
	let a = e.map((e) => n[e]), o = new Int32Array(hi(a)), s = new Int32Array(e.length), c = e.map((e) => r.get(e) ?? 0), l = 0;
	for (let t = 0; t < o.length; t++) {
		o[t] = l;
		for (let t = e.length - 1; t >= 0 && (l += c[t], !(++s[t] < a[t])); t--) l -= c[t] * a[t], s[t] = 0;
	}
	return o;
}
var _i = class {
	size;
	cliques = [];
	order = [];
	home = [];
	maps = /* @__PURE__ */ new Map();
	scopes;
	constructor(e, t) {
		this.size = e, this.scopes = t, this.triangulate(), this.home = t.map((e) => this.cliques.findIndex((t) => e.every((e) => t.scope.includes(e))));
	}
	triangulate() {
		let e = [...new Set(this.scopes.flat())], t = new Map(e.map((e) => [e, /* @__PURE__ */ new Set()]));
		for (let e of this.scopes) for (let n of e) for (let r of e) n !== r && t.get(n).add(r);
		let n = new Set(e), r = [];
		for (; n.size;) {
			let e = -1, i = Infinity;
			for (let r of n) {
				let n = this.size[r] * hi([...t.get(r)].map((e) => this.size[e]));
				n < i && (e = r, i = n);
			}
			let a = [...t.get(e)], o = [e, ...a].sort((e, t) => e - t);
			r.some((e) => o.every((t) => e.includes(t))) || r.push(o);
			for (let e of a) for (let n of a) e !== n && t.get(e).add(n);
			for (let n of a) t.get(n).delete(e);
			n.delete(e);
		}
		let i = r.map((e) => hi(e.map((e) => this.size[e])));
		if (i.reduce((e, t) => e + t, 0) > 4e6) throw Error("the network is too wide for this page");
		this.cliques = r.map((e, t) => ({
			scope: e,
			cells: i[t],
			parent: -1,
			separator: [],
			children: []
		})), this.join();
	}
	join() {
		let e = this.cliques.length, t = /* @__PURE__ */ new Set();
		for (; t.size < e;) {
			let n = [-1, -1], r = 0;
			for (let i of t) for (let a = 0; a < e; a++) {
				if (t.has(a)) continue;
				let e = this.cliques[i].scope.filter((e) => this.cliques[a].scope.includes(e)).length;
				e > r && (n = [i, a], r = e);
			}
			let i = n[1] >= 0 ? n[1] : this.cliques.findIndex((e, n) => !t.has(n));
			if (n[1] >= 0) {
				let [e, t] = n;
				this.cliques[t].parent = e, this.cliques[e].children.push(t), this.cliques[t].separator = this.cliques[t].scope.filter((t) => this.cliques[e].scope.includes(t));
			}
			t.add(i), this.order.push(i);
		}
	}
	map(e, t) {
		let n = `${e.join()}|${t.join()}`, r = this.maps.get(n);
		return r || this.maps.set(n, r = gi(e, t, this.size)), r;
	}
	propagate(e, t = !1) {
		let n = this.cliques.map((e) => new Float64Array(e.cells).fill(1));
		e.forEach((e, t) => {
			let r = this.home[t], i = this.map(this.cliques[r].scope, e.scope), a = n[r];
			for (let t = 0; t < a.length; t++) a[t] *= e.values[i[t]];
		});
		let r = 0, i = [];
		for (let e of [...this.order].reverse()) {
			let a = this.cliques[e], o = n[e], s = new Float64Array(hi(a.separator.map((e) => this.size[e]))), c = this.map(a.scope, a.separator);
			for (let e = 0; e < o.length; e++) s[c[e]] = t ? Math.max(s[c[e]], o[e]) : s[c[e]] + o[e];
			let l = t ? s.reduce((e, t) => Math.max(e, t), 0) : s.reduce((e, t) => e + t, 0);
			if (!(l > 0)) throw Error("what is given has probability zero");
			if (r += Math.log(l), i[e] = s.map((e) => e / l), a.parent >= 0) {
				let t = n[a.parent], r = this.map(this.cliques[a.parent].scope, a.separator);
				for (let n = 0; n < t.length; n++) t[n] *= i[e][r[n]];
			}
		}
		let a = [];
		for (let e of this.order) {
			let r = this.cliques[e], o = n[e];
			if (r.parent >= 0) {
				let n = a[r.parent], s = new Float64Array(i[e].length), c = this.map(this.cliques[r.parent].scope, r.separator);
				for (let e = 0; e < n.length; e++) s[c[e]] = t ? Math.max(s[c[e]], n[e]) : s[c[e]] + n[e];
				let l = this.map(r.scope, r.separator);
				for (let t = 0; t < o.length; t++) {
					let n = i[e][l[t]];
					o[t] = n > 0 ? o[t] * s[l[t]] / n : 0;
				}
			}
			let s = t ? o.reduce((e, t) => Math.max(e, t), 0) : o.reduce((e, t) => e + t, 0);
			a[e] = o.map((e) => e / s);
		}
		return {
			beliefs: a,
			log: r
		};
	}
	marginal(e, t) {
		let n = this.cliques.findIndex((e) => t.every((t) => e.scope.includes(t))), r = new Float64Array(hi(t.map((e) => this.size[e]))), i = this.map(this.cliques[n].scope, t);
		return e[n].forEach((e, t) => r[i[t]] += e), r;
	}
}, vi = class {
	net;
	size;
	discrete;
	continuous;
	above;
	tree;
	scopes;
	constructor(e) {
		this.net = e, this.size = e.variables.map((e) => e.states.length), this.discrete = this.size.flatMap((e, t) => e ? [t] : []), this.continuous = this.sorted(this.size.flatMap((e, t) => e ? [] : [t]));
		let t = this.continuous.flatMap((t) => e.parents[t].filter((e) => this.size[e]));
		if (this.above = [...new Set(t)].sort((e, t) => e - t), hi(this.above.map((e) => this.size[e])) > 2e4) throw Error("the continuous variables depend on too many states for this page");
		this.scopes = this.discrete.map((t) => [...e.parents[t], t]), this.above.length && this.scopes.push(this.above), this.tree = new _i(this.size, [...this.scopes, ...this.discrete.map((e) => [e])]);
	}
	sorted(e) {
		let t = [], n = /* @__PURE__ */ new Set(), r = (e) => {
			n.has(e) || this.size[e] || (n.add(e), this.net.parents[e].forEach(r), t.push(e));
		};
		return e.forEach(r), t;
	}
	ask(e) {
		let { beliefs: t, log: n, normals: r } = this.run(e, !1), i = this.net.variables.map(() => ({}));
		for (let e of this.discrete) {
			let n = this.tree.marginal(t, [e]), r = n.reduce((e, t) => e + t, 0);
			i[e] = { p: Array.from(n, (e) => e / r) };
		}
		if (this.continuous.length) {
			let e = this.above.length ? this.tree.marginal(t, this.above) : new Float64Array([1]), n = e.reduce((e, t) => e + t, 0);
			this.continuous.forEach((t, a) => {
				let o = [];
				e.forEach((e, t) => {
					e > 0 && o.push([
						e / n,
						r[t].mean[a],
						Math.sqrt(Math.max(r[t].covariance[a][a], 0))
					]);
				}), i[t] = yi(o);
			});
		}
		return {
			log_probability: n,
			marginals: i
		};
	}
	explain(e) {
		let { beliefs: t, normals: n } = this.run(e, !0), r = /* @__PURE__ */ new Map();
		for (let e of this.tree.order) {
			let n = this.tree.cliques[e].scope, i = -1, a = [];
			t[e].forEach((e, t) => {
				let o = n.map(() => 0), s = t;
				for (let e = n.length - 1; e >= 0; e--) o[e] = s % this.size[n[e]], s = Math.floor(s / this.size[n[e]]);
				e > i && n.every((e, t) => !r.has(e) || r.get(e) === o[t]) && (i = e, a = o);
			}), n.forEach((e, t) => r.set(e, a[t]));
		}
		let i = {};
		for (let e of this.discrete) i[e] = { state: r.get(e) };
		let a = this.above.reduce((e, t) => e * this.size[t] + r.get(t), 0);
		return this.continuous.forEach((e, t) => i[e] = { value: n[a].mean[t] }), i;
	}
	run(e, t) {
		let n = this.discrete.map((e, t) => ({
			scope: this.scopes[t],
			values: Float64Array.from(this.net.tables[e])
		})), r = this.normals(e), i = 0;
		this.above.length ? (i = Math.max(...r.map((e) => e.log)), n.push({
			scope: this.above,
			values: Float64Array.from(r, (e) => Math.exp(e.log - i))
		})) : this.continuous.length && (i = r[0].log);
		for (let t of this.discrete) n.push({
			scope: [t],
			values: this.finding(t, e[t])
		});
		if (!n.length) return {
			beliefs: [],
			log: i,
			normals: r
		};
		let a = this.tree.propagate(n, t);
		return {
			beliefs: a.beliefs,
			log: a.log + i,
			normals: r
		};
	}
	finding(e, t) {
		let n = new Float64Array(this.size[e]).fill(1);
		if (t?.state !== void 0) n.fill(0), n[t.state] = 1;
		else if (t?.likelihood) {
			let e = Math.max(...t.likelihood);
			t.likelihood.forEach((t, r) => n[r] = t / e);
		}
		return n;
	}
	normals(e) {
		if (!this.continuous.length) return [];
		let t = hi(this.above.map((e) => this.size[e]));
		return Array.from({ length: t }, (t, n) => this.conditioned(this.joint(n), e));
	}
	joint(e) {
		let t = /* @__PURE__ */ new Map(), n = e;
		for (let e of [...this.above].reverse()) t.set(e, n % this.size[e]), n = Math.floor(n / this.size[e]);
		let r = this.continuous.length, i = new Map(this.continuous.map((e, t) => [e, t])), a = new Float64Array(r), o = Array.from({ length: r }, () => new Float64Array(r));
		return this.continuous.forEach((e, n) => {
			let r = this.net.parents[e], s = r.filter((e) => !this.size[e]).map((e) => i.get(e)), c = r.filter((e) => this.size[e]).reduce((e, n) => e * this.size[n] + t.get(n), 0), l = this.net.tables[e].slice(c * (s.length + 2), (c + 1) * (s.length + 2));
			a[n] = l[0] + s.reduce((e, t, n) => e + l[1 + n] * a[t], 0);
			for (let e = 0; e < n; e++) {
				let t = s.reduce((t, n, r) => t + l[1 + r] * o[n][e], 0);
				o[n][e] = o[e][n] = t;
			}
			o[n][n] = l.at(-1) + s.reduce((e, t, r) => e + l[1 + r] * o[t][n], 0);
		}), {
			mean: a,
			covariance: o,
			log: 0
		};
	}
	conditioned(e, t) {
		return this.continuous.forEach((n, r) => {
			let i = t[n]?.value;
			if (i === void 0) return;
			let { mean: a, covariance: o } = e, s = o[r][r], c = i - a[r];
			e.log += s > 0 ? -.5 * (Math.log(2 * Math.PI * s) + c * c / s) : c === 0 ? 0 : -Infinity;
			let l = a.map((e, t) => s > 0 ? o[t][r] / s : 0), u = Float64Array.from(o[r]);
			for (let e = 0; e < a.length; e++) {
				a[e] += l[e] * c;
				for (let t = 0; t < a.length; t++) o[e][t] -= l[e] * u[t];
			}
			a[r] = i;
			for (let e = 0; e < a.length; e++) o[r][e] = o[e][r] = 0;
		}), e;
	}
};
function yi(e) {
	let t = e.reduce((e, [t, n]) => e + t * n, 0), n = e.reduce((e, [n, r, i]) => e + n * (i * i + (r - t) ** 2), 0), r = [
		.05,
		.5,
		.95
	].map((t) => bi(e, t));
	return {
		mean: t,
		sd: Math.sqrt(n),
		quantiles: r,
		normals: e
	};
}
function bi(e, t) {
	let n = Math.min(...e.map(([, e, t]) => e - 9 * t)), r = Math.max(...e.map(([, e, t]) => e + 9 * t));
	for (let i = 0; i < 80; i++) {
		let i = (n + r) / 2;
		e.reduce((e, [t, n, r]) => e + t * (r > 0 ? xi((i - n) / r) : +(i >= n)), 0) < t ? n = i : r = i;
	}
	return r;
}
function xi(e) {
	let t = Math.abs(e) / Math.SQRT2, n = 1 / (1 + .5 * t), r = -1.26551223 + n * (1.00002368 + n * (.37409196 + n * (.09678418 + n * (-.18628806 + n * (.27886807 + n * (-1.13520398 + n * (1.48851587 + n * (-.82215223 + n * .17087277)))))))), i = .5 * n * Math.exp(-t * t + r);
	return e >= 0 ? 1 - i : i;
}
// node_modules/svelte/src/internal/disclose-version.js
typeof window < "u" && ((window.__svelte ??= {}).v ??= /* @__PURE__ */ new Set()).add("5");
// src/lib/asking.svelte.ts
var Si = 60, Ci = class {
	shape;
	asker;
	told;
	#e = /* @__PURE__ */ P(Kt({}));
	get given() {
		return W(this.#e);
	}
	set given(e) {
		F(this.#e, e, !0);
	}
	#t = /* @__PURE__ */ P(/* @__PURE__ */ new Map());
	get answers() {
		return W(this.#t);
	}
	set answers(e) {
		F(this.#t, e);
	}
	#n = /* @__PURE__ */ P(/* @__PURE__ */ new Map());
	get before() {
		return W(this.#n);
	}
	set before(e) {
		F(this.#n, e);
	}
	#r = /* @__PURE__ */ P(0);
	get log() {
		return W(this.#r);
	}
	set log(e) {
		F(this.#r, e, !0);
	}
	#i = /* @__PURE__ */ P(null);
	get best() {
		return W(this.#i);
	}
	set best(e) {
		F(this.#i, e);
	}
	#a = /* @__PURE__ */ P("");
	get problem() {
		return W(this.#a);
	}
	set problem(e) {
		F(this.#a, e, !0);
	}
	#o = /* @__PURE__ */ P([]);
	get past() {
		return W(this.#o);
	}
	set past(e) {
		F(this.#o, e);
	}
	#s = /* @__PURE__ */ P([]);
	get future() {
		return W(this.#s);
	}
	set future(e) {
		F(this.#s, e);
	}
	#c = /* @__PURE__ */ P(0);
	get took() {
		return W(this.#c);
	}
	set took(e) {
		F(this.#c, e, !0);
	}
	get drawn() {
		return Math.max(0, ...[...this.answers.values()].map((e) => e.error ?? 0));
	}
	#l = /* @__PURE__ */ P(!1);
	get slow() {
		return W(this.#l);
	}
	set slow(e) {
		F(this.#l, e, !0);
	}
	asked = {};
	shown = {};
	wanted = 0;
	busy = !1;
	again = !1;
	constructor(e, t, n = {}, r = () => {}) {
		this.shape = e, this.asker = t, this.told = r;
		let i = new Set(e.variables.map((e) => e.name));
		this.given = this.asked = Object.fromEntries(Object.entries(n).filter(([e]) => i.has(e))), this.first();
	}
	named(e) {
		return new Map(this.shape.variables.map((t, n) => [t.name, e.marginals[n]]));
	}
	async first() {
		try {
			let e = await this.timed(this.asker.ask({}));
			this.before = this.named(e), Object.keys(this.given).length ? await this.ask() : (this.answers = this.before, this.log = e.log_probability);
		} catch (e) {
			this.problem = String(e.message ?? e);
		}
	}
	async timed(e) {
		let t = setTimeout(() => this.slow = !0, 1200);
		try {
			return await e;
		} finally {
			clearTimeout(t), this.slow = !1;
		}
	}
	set(e, t, n = !1) {
		let r = { ...this.asked };
		t === void 0 ? delete r[e] : r[e] = t, this.become(r, !n);
	}
	become(e, t = !0) {
		t && (this.past = [...this.past.slice(-200), this.asked], this.future = []), this.asked = e, setTimeout(() => this.show(e), Si), this.ask();
	}
	show(e) {
		e === this.asked && e !== this.shown && (this.given = this.shown = e, this.best = null, this.told(e));
	}
	undo() {
		let e = this.past.at(-1);
		e && (this.future = [...this.future, this.asked], this.past = this.past.slice(0, -1), this.become(e, !1));
	}
	redo() {
		let e = this.future.at(-1);
		e && (this.past = [...this.past, this.asked], this.future = this.future.slice(0, -1), this.become(e, !1));
	}
	async ask() {
		if (this.busy) {
			this.again = !0;
			return;
		}
		this.busy = !0;
		let e = performance.now(), [t, n] = [++this.wanted, this.asked];
		try {
			let e = await this.timed(this.asker.ask(n));
			this.show(n), t === this.wanted && (this.answers = this.named(e), this.log = e.log_probability, this.problem = "");
		} catch (e) {
			this.show(n), this.problem = String(e.message ?? e);
		}
		this.took = performance.now() - e, this.busy = !1, this.again && (this.again = !1, await this.ask());
	}
	async explain() {
		if (this.best) this.best = null;
		else try {
			this.best = (await this.asker.explain(this.asked)).states;
		} catch (e) {
			this.problem = String(e.message ?? e);
		}
	}
}, wi = (e) => e >= .9995 && e < 1 ? ">99.9" : e > 0 && e < 5e-4 ? "<0.1" : (100 * e).toFixed(1);
function $(e, t = 4) {
	if (e == null || !isFinite(e)) return "–";
	let n = Math.abs(e);
	return (n !== 0 && (n >= 1e6 || n < .001) ? e.toExponential(2) : String(Number(e.toPrecision(t)))).replace("-", "−");
}
var Ti = (e) => e.toLocaleString("en-US").replaceAll(",", " "), Ei = (e, t) => `${Ti(e)} ${t}${e === 1 ? "" : t.endsWith("s") ? "es" : "s"}`, Di = (e, t) => e.length > t ? e.slice(0, t - 1) + "…" : e;
// src/lib/local.ts
function Oi(e, t) {
	let n = t({
		variables: e.variables,
		parents: e.parents,
		tables: e.tables
	}), r = new Map(e.variables.map((e, t) => [e.name, t])), i = (e) => Object.fromEntries(Object.entries(e).map(([e, t]) => [r.get(e), t])), a = (t) => {
		let n = r.get(t), i = e.parents[n].filter((t) => e.variables[t].states.length), a = e.parents[n].filter((t) => !e.variables[t].states.length), o = e.variables[n].states.length ? e.variables[n].states : [
			"intercept",
			...a.map((t) => e.variables[t].name),
			"variance"
		], s = [];
		for (let t = 0; t < e.tables[n].length; t += o.length) s.push(e.tables[n].slice(t, t + o.length));
		return {
			name: t,
			family: "",
			parents: i.map((t) => e.variables[t].name),
			parent_states: i.map((t) => e.variables[t].states),
			columns: o,
			rows: s
		};
	}, o = (e, t) => e && t ? e.reduce((e, n, r) => e + Math.abs(n - t[r]), 0) / 2 : 0;
	return {
		ask: async (e) => n.ask(i(e)),
		explain: async (t) => {
			let r = n.explain(i(t));
			return { states: Object.fromEntries(e.variables.map((e, t) => [e.name, r[t]])) };
		},
		family: async (e) => a(e),
		sensitivity: async (e, t) => {
			let a = n.ask(i(e)).marginals[r.get(t)];
			return Object.keys(e).filter((e) => e !== t).map((s) => {
				let c = { ...e };
				delete c[s];
				let l = n.ask(i(c)).marginals[r.get(t)];
				return {
					name: s,
					moves: a.p ? o(a.p, l.p) : Math.min(1, Math.abs(a.mean - l.mean) / (2 * (l.sd || 1)))
				};
			}).sort((e, t) => t.moves - e.moves);
		}
	};
}
// src/lib/layout.ts
var ki = 4, Ai = 9, ji = (e, t) => JSON.stringify([e, t]);
function Mi(e, t, n, r = 28, i = 56, a = 1.7) {
	let o = new Map(e.map((e, t) => [e, t])), s = t.map(([e, t]) => [o.get(e), o.get(t)]).filter(([e, t]) => e !== void 0 && t !== void 0), c = e.map(() => []), l = e.map(() => []);
	for (let [e, t] of s) c[t].push(e), l[e].push(t);
	let u = Pi(c, l), d = e.map(() => 0);
	for (let e of u) d[e] = c[e].reduce((e, t) => Math.max(e, d[t] + 1), 0);
	for (let e of [...u].reverse()) l[e].length && !c[e].length && (d[e] = Math.min(...l[e].map((e) => d[e])) - 1);
	let f = e.map((e) => n(e).width);
	Ni(d, l, f, r, e.map((e) => n(e).height), i, a);
	let p = Array.from({ length: Math.max(-1, ...d) + 1 }, () => []);
	d.forEach((e, t) => p[e].push(t));
	let m = [], h = [];
	for (let [e, t] of s) {
		let n = [e];
		for (let r = d[e] + 1; r < d[t]; r++) {
			let e = f.length;
			f.push(ki), d.push(r), p[r].push(e), m.push([n.at(-1), e]), n.push(e);
		}
		m.push([n.at(-1), t]), h.push([...n, t]);
	}
	Fi(p, m, e.length, f), p.forEach((t, n) => p[n] = Ii(t, e.length));
	let g = f.map(() => []), _ = f.map(() => []);
	for (let [e, t] of m) g[t].push(e), _[e].push(t);
	let v = Ri(p, g, _, f.length > 1500 ? 8 : 24);
	return Ui(e, n, v, Vi(v, g, _, f, (t, n) => t < e.length && n < e.length ? r : Ai), h, s, i);
}
function Ni(e, t, n, r, i, a, o) {
	let s = n.reduce((e, t, n) => e + (t + r) * (i[n] + a), 0), c = Math.max(3.5 * (n[0] ?? 0), Math.sqrt(s * o));
	for (let i = 0; i <= Math.max(...e) && i < 400; i++) {
		let a = e.flatMap((e, t) => e === i ? [t] : []), o = a.filter((e) => !t[e].length), s = a.reduce((e, t) => e + n[t] + r, 0), l = Math.ceil(s / c - 1e-9), u = Math.max(1, Math.ceil(a.length / l) - (a.length - o.length));
		for (let t of o.slice(u)) e[t]++;
	}
}
function Pi(e, t) {
	let n = e.map((e) => e.length), r = n.flatMap((e, t) => e ? [] : [t]);
	for (let e = 0; e < r.length; e++) for (let i of t[r[e]]) --n[i] === 0 && r.push(i);
	return r;
}
function Fi(e, t, n, r) {
	let i = new Set(t.flat()), a = e.flat().filter((e) => e < n && !i.has(e));
	if (a.length < 2) return;
	e.forEach((t, n) => e[n] = t.filter((e) => !a.includes(e)));
	let o = Math.max(900, ...e.map((e) => e.reduce((e, t) => e + r[t] + 28, 0))), s = [], c = 0;
	for (let t of a) c + r[t] > o && (e.push(s), s = [], c = 0), s.push(t), c += r[t] + 28;
	for (s.length && e.push(s); e.length && !e[0].length;) e.shift();
}
function Ii(e, t) {
	let n = (e) => e.map((t, n) => [(n + .5) / e.length, t]);
	return [...n(e.filter((e) => e < t)), ...n(e.filter((e) => e >= t))].sort((e, t) => e[0] - t[0]).map(([, e]) => e);
}
var Li = (e, t) => e.length ? e.reduce((e, t) => e + t, 0) / e.length : t;
function Ri(e, t, n, r) {
	let i = e.map((e) => [...e]), a = i.map((e) => [...e]), o = zi(a, n);
	for (let e = 0; e < r && o > 0; e++) {
		let r = e % 2 == 0, s = r ? t : n, c = /* @__PURE__ */ new Map();
		for (let e of i) e.forEach((e, t) => c.set(e, t));
		for (let e of r ? i : [...i].reverse()) {
			let t = new Map(e.map((e, t) => [e, Li(s[e].map((e) => c.get(e)), t)]));
			e.sort((e, n) => t.get(e) - t.get(n)), e.forEach((e, t) => c.set(e, t));
		}
		let l = zi(i, n);
		l < o && (a = i.map((e) => [...e]), o = l);
	}
	return a;
}
function zi(e, t) {
	let n = 0;
	for (let r = 0; r + 1 < e.length; r++) {
		let i = new Map(e[r + 1].map((e, t) => [e, t])), a = e[r].flatMap((e) => t[e].map((e) => i.get(e) ?? 0).sort((e, t) => e - t));
		n += Bi(a, e[r + 1].length);
	}
	return n;
}
function Bi(e, t) {
	let n = new Int32Array(t + 2), r = 0;
	return e.forEach((e, i) => {
		let a = 0;
		for (let t = e + 1; t > 0; t -= t & -t) a += n[t];
		r += i - a;
		for (let r = e + 1; r <= t + 1; r += r & -r) n[r]++;
	}), r;
}
function Vi(e, t, n, r, i) {
	let a = new Float64Array(r.length);
	for (let t of e) {
		let e = 0;
		t.forEach((n, o) => {
			o && (e += i(t[o - 1], n)), a[n] = e + r[n] / 2, e += r[n];
		});
	}
	for (let o = 0; o < 24; o++) {
		let s = o % 2 == 0 ? t : n;
		for (let t of o % 2 == 0 ? e : [...e].reverse()) Hi(t, t.map((e) => Li(s[e].map((e) => a[e]), a[e])), r, i).forEach((e, n) => a[t[n]] = e);
	}
	return a;
}
function Hi(e, t, n, r) {
	let i = [], a = 0;
	e.forEach((t, o) => {
		o && (a += n[e[o - 1]] / 2 + r(e[o - 1], t) + n[t] / 2), i.push(a);
	});
	let o = [];
	return t.forEach((e, t) => {
		let n = e - i[t], r = 1;
		for (; o.length && o.at(-1)[0] > n;) {
			let [e, t] = o.pop();
			n = (n * r + e * t) / (r + t), r += t;
		}
		o.push([n, r]);
	}), o.flatMap(([e, t]) => Array(t).fill(e)).map((e, t) => e + i[t]);
}
function Ui(e, t, n, r, i, a, o) {
	let s = Math.min(0, ...n.flat().map((n) => r[n] - (n < e.length ? t(e[n]).width : ki) / 2)), c = /* @__PURE__ */ new Map(), l = /* @__PURE__ */ new Map(), u = 0, d = 0;
	for (let i of n) {
		let n = Math.max(20, ...i.filter((t) => t < e.length).map((n) => t(e[n]).height));
		for (let a of i) {
			let i = r[a] - s;
			if (l.set(a, [{
				x: i,
				y: u - 2
			}, {
				x: i,
				y: u + n + 2
			}]), a < e.length) {
				let n = t(e[a]).width;
				c.set(e[a], {
					x: i - n / 2,
					y: u
				}), d = Math.max(d, i + n / 2);
			}
		}
		u += n + o;
	}
	let f = /* @__PURE__ */ new Map();
	return i.forEach((t, n) => f.set(ji(e[a[n][0]], e[a[n][1]]), t.slice(1, -1).flatMap((e) => l.get(e)))), {
		at: c,
		bends: f,
		width: d,
		height: Math.max(0, u - o)
	};
}
function Wi(e) {
	let t = `M${e[0].x.toFixed(1)},${e[0].y.toFixed(1)}`;
	for (let n = 1; n < e.length; n++) {
		let [r, i] = [e[n - 1], e[n]], a = (i.y - r.y) / 2;
		t += `C${r.x.toFixed(1)},${(r.y + a).toFixed(1)} ${i.x.toFixed(1)},${(i.y - a).toFixed(1)} ${i.x.toFixed(1)},${i.y.toFixed(1)}`;
	}
	return t;
}
// src/parts/Inspector.svelte
var Gi = /* @__PURE__ */ K("<li><button><span class=\"grow wrap\"> </span><span class=\"num\"> </span></button></li>"), Ki = /* @__PURE__ */ K("<label class=\"soft\"><span class=\"grow wrap\"> </span> <input type=\"range\" min=\"0\" max=\"1\" step=\"0.05\"/> <span class=\"num small\"> </span></label>"), qi = /* @__PURE__ */ K("<ul class=\"states\"></ul> <details><summary>Soft evidence</summary> <p class=\"help small\">How likely is what you saw, under each state? Only the ratios matter. In the graph: hold Shift and drag a bar.</p> <!></details>", 1), Ji = /* @__PURE__ */ K("<button type=\"button\" class=\"plain\">Take back</button>"), Yi = /* @__PURE__ */ K("<p class=\"small\"> </p>"), Xi = /* @__PURE__ */ K("<form class=\"row\"><label>Value <input type=\"text\" inputmode=\"decimal\" size=\"10\"/></label> <button>Give</button> <!></form> <!>", 1), Zi = /* @__PURE__ */ K("<button>Which finding moves it?</button>"), Qi = /* @__PURE__ */ K("<p class=\"faint small\" role=\"status\">Working it out…</p>"), $i = /* @__PURE__ */ K("<li><button class=\"plain\"> </button><meter min=\"0\" max=\"1\"></meter><span class=\"num small\"> </span></li>"), ea = /* @__PURE__ */ K("<h3>Findings, by how far they move it</h3> <ul class=\"bars\"></ul> <p class=\"faint small\">Total variation, in percent, between the probabilities with and without the finding.</p>", 1), ta = /* @__PURE__ */ K("<li><button class=\"plain\"> </button><meter min=\"0\"></meter><span class=\"num small\"> </span></li>"), na = /* @__PURE__ */ K("<h3> </h3> <ul class=\"bars\"></ul> <p class=\"faint small\"> </p>", 1), ra = /* @__PURE__ */ K("<div class=\"row\"><!> <button>What to observe next?</button></div> <!> <!> <!>", 1), ia = /* @__PURE__ */ K("<th> </th>"), aa = /* @__PURE__ */ K("<th class=\"num\"> </th>"), oa = /* @__PURE__ */ K("<td> </td>"), sa = /* @__PURE__ */ K("<td class=\"num\"> </td>"), ca = /* @__PURE__ */ K("<tr><!><!></tr>"), la = /* @__PURE__ */ K("<p class=\"faint small\"> </p>"), ua = /* @__PURE__ */ K("<h3> </h3> <div class=\"scroll table\"><table><thead><tr><!><!></tr></thead><tbody></tbody></table> <!></div>", 1), da = /* @__PURE__ */ K("<div class=\"row head\"><h2 class=\"grow wrap\"> </h2> <button class=\"plain\" aria-label=\"Close\">✕</button></div> <p class=\"faint small\"> </p> <!> <!> <!>", 1), fa = /* @__PURE__ */ K("<li><button class=\"plain grow\"><span class=\"wrap\"> </span></button><span class=\"value wrap\"> </span><button class=\"plain\">✕</button></li>"), pa = /* @__PURE__ */ K("<ul class=\"findings\"></ul> <p class=\"small faint\"> </p>", 1), ma = /* @__PURE__ */ K("<p class=\"help small\">Nothing yet. Click a state in a box: all bars move to what follows. Click it again to take it back; hold Shift and drag a bar for evidence that is only likely. Click a box's name to see more of it.</p>"), ha = /* @__PURE__ */ K("<h2>What is given</h2> <!>", 1), ga = /* @__PURE__ */ K("<aside class=\"inspector\" aria-label=\"What is given, and the selected variable\"><!></aside>");
function _a(e, t) {
	Ue(t, !0);
	let n = mi(t, "asking", 7), r = /* @__PURE__ */ M(() => n().shape.variables.find((e) => e.name === t.name)), i = /* @__PURE__ */ M(() => t.name ? n().given[t.name] : void 0), a = /* @__PURE__ */ M(() => t.name ? n().answers.get(t.name) : void 0), o = /* @__PURE__ */ M(() => Object.entries(n().given)), s = /* @__PURE__ */ P(null), c = /* @__PURE__ */ P(null), l = /* @__PURE__ */ P(null), u = /* @__PURE__ */ P(""), d = /* @__PURE__ */ P("");
	mn(() => {
		let [e, r] = [t.name, t.component];
		F(s, null), e && e !== n().shape.component && n().asker.family(e, r).then((n) => e === t.name && F(s, n), () => F(s, null));
	}), mn(() => {
		n().given, t.name, F(c, F(l, null));
	}), mn(() => {
		F(d, W(i)?.value === void 0 ? "" : String(W(i).value), !0);
	});
	function f(e, a) {
		let o = W(i)?.likelihood ? [...W(i).likelihood] : W(r).states.map(() => 1);
		o[e] = a, o.some((e) => e > 0) && n().set(t.name, o.every((e) => e === 1) ? void 0 : { likelihood: o });
	}
	function p() {
		let e = Number(W(d).replace(",", "."));
		W(d).trim() === "" ? n().set(t.name, void 0) : isFinite(e) && n().set(t.name, { value: e });
	}
	async function h(e) {
		F(u, e, !0);
		try {
			e === "moves" ? F(c, await n().asker.sensitivity(Be(n().given), t.name)) : F(l, (await n().asker.telling(Be(n().given), t.name)).filter((e) => e.nats > 1e-9).slice(0, 12));
		} catch (e) {
			n().problem = e.message;
		}
		F(u, "");
	}
	function g(e, t) {
		let r = n().shape.variables.find((e) => e.name === t)?.states ?? [];
		return e.state === void 0 ? e.value === void 0 ? e.likelihood.map((e, t) => `${r[t]}: ${e}`).join(", ") : $(e.value, 6) : r[e.state];
	}
	function _(e) {
		let t = [], n = e;
		for (let e of [...W(s).parent_states].reverse()) t.unshift(e[n % e.length]), n = Math.floor(n / e.length);
		return t;
	}
	var v = ga(), y = I(v), b = (e) => {
		var m = da(), g = tn(m), v = I(g), y = L(v, !0), b = R(v, 2);
		k(g);
		var x = R(g, 2), S = L(x), C = R(x, 2), w = (e) => {
			var o = qi(), s = tn(o);
			Z(s, 21, () => W(r).states, Mr, (e, r, o) => {
				var s = Gi(), c = I(s);
				let l;
				var u = I(c), d = L(u, !0), f = L(R(u), !0);
				k(c), k(s), z((e) => {
					l = Yr(c, 1, "state", null, l, { on: W(i)?.state === o }), Q(c, "aria-pressed", W(i)?.state === o), Y(d, W(r)), Y(f, e);
				}, [() => W(a)?.p ? `${wi(W(a).p[o])} %` : "…"]), G("click", c, () => n().set(t.name, W(i)?.state === o ? void 0 : { state: o })), J(e, s);
			}), k(s);
			var c = R(s, 2);
			Z(R(I(c), 4), 17, () => W(r).states, Mr, (e, t, n) => {
				var r = Ki(), a = I(r), o = L(a, !0), s = R(a, 2);
				ni(s);
				var c = L(R(s, 2), !0);
				k(r), z((e) => {
					Y(o, W(t)), ri(s, W(i)?.likelihood?.[n] ?? 1), Q(s, "aria-label", `Likelihood of ${W(t)}`), Y(c, e);
				}, [() => (W(i)?.likelihood?.[n] ?? 1).toFixed(2)]), G("input", s, (e) => f(n, Number(e.currentTarget.value))), J(e, r);
			}), k(c), J(e, o);
		}, T = (e) => {
			var r = Xi(), o = tn(r), s = I(o), c = R(I(s));
			ni(c), k(s);
			var l = R(s, 4), u = (e) => {
				var r = Ji();
				G("click", r, () => n().set(t.name, void 0)), J(e, r);
			};
			X(l, (e) => {
				W(i) && e(u);
			}), k(o);
			var f = R(o, 2), m = (e) => {
				var t = Yi(), n = L(t);
				z((e, t, r, i) => Y(n, `Mean ${e ?? ""}, standard deviation ${t ?? ""}; 90 % between ${r ?? ""} and ${i ?? ""}.`), [
					() => $(W(a).mean),
					() => $(W(a).sd, 3),
					() => $(W(a).quantiles[0]),
					() => $(W(a).quantiles[2])
				]), J(e, t);
			};
			X(f, (e) => {
				W(a)?.quantiles && !W(i) && e(m);
			}), z((e) => Q(c, "placeholder", e), [() => $(W(a)?.mean)]), dr("submit", o, (e) => (e.preventDefault(), p())), si(c, () => W(d), (e) => F(d, e)), J(e, r);
		};
		X(C, (e) => {
			W(r).kind === "discrete" ? e(w) : e(T, -1);
		});
		var ee = R(C, 2), te = (e) => {
			var n = ra(), i = tn(n), a = I(i), s = (e) => {
				var t = Zi();
				z(() => t.disabled = !!W(u)), G("click", t, () => h("moves")), J(e, t);
			}, d = /* @__PURE__ */ M(() => W(o).some(([e]) => e !== t.name));
			X(a, (e) => {
				W(d) && e(s);
			});
			var f = R(a, 2);
			k(i);
			var p = R(i, 2), m = (e) => {
				J(e, Qi());
			};
			X(p, (e) => {
				W(u) && e(m);
			});
			var g = R(p, 2), _ = (e) => {
				var n = ea(), r = R(tn(n), 2);
				Z(r, 21, () => W(c), (e) => e.name, (e, n) => {
					var r = $i(), i = I(r), a = L(i, !0), o = R(i), s = L(R(o), !0);
					k(r), z((e) => {
						Y(a, W(n).name), ri(o, W(n).moves), Q(o, "aria-label", W(n).name), Y(s, e);
					}, [() => wi(W(n).moves)]), G("click", i, () => t.pick(W(n).name)), J(e, r);
				}), k(r), Se(2), J(e, n);
			};
			X(g, (e) => {
				W(c) && e(_);
			});
			var v = R(g, 2), y = (e) => {
				var n = na(), i = tn(n), a = L(i, !0), o = R(i, 2);
				Z(o, 21, () => W(l), (e) => e.name, (e, n) => {
					var r = ta(), i = I(r), a = L(i, !0), o = R(i), s = L(R(o));
					k(r), z((e, t) => {
						Y(a, W(n).name), Q(o, "max", e), ri(o, W(n).nats), Q(o, "aria-label", W(n).name), Y(s, `${t ?? ""}${W(n).exact ? "" : " ≈"}`);
					}, [() => Math.max(W(l)[0].nats, 1e-9), () => $(W(n).nats, 2)]), G("click", i, () => t.pick(W(n).name)), J(e, r);
				}), k(o);
				var s = L(R(o, 2));
				z(() => {
					Y(a, W(l).length ? "Observations, by what they would tell" : "No observation would tell more of it"), Y(s, `Mutual information in nats: how much of the doubt about ${W(r).name ?? ""} an observation would remove on average.`);
				}), J(e, n);
			};
			X(v, (e) => {
				W(l) && e(y);
			}), z(() => f.disabled = !!W(u)), G("click", f, () => h("tells")), J(e, n);
		};
		X(ee, (e) => {
			n().asker.sensitivity && e(te);
		});
		var ne = R(ee, 2), re = (e) => {
			var i = ua(), a = tn(i), o = L(a), c = R(a, 2), l = I(c), u = I(l), d = I(u), f = I(d);
			Z(f, 16, () => W(s).parents, (e) => e, (e, t) => {
				var n = ia(), r = L(n, !0);
				z(() => Y(r, t)), J(e, n);
			}), Z(R(f), 17, () => W(s).columns, Mr, (e, t) => {
				var n = aa(), r = L(n, !0);
				z(() => Y(r, W(t))), J(e, n);
			}), k(d), k(u);
			var p = R(u);
			Z(p, 21, () => W(s).rows.slice(0, 200), Mr, (e, t, n) => {
				var i = ca(), a = I(i);
				Z(a, 17, () => _(n), Mr, (e, t) => {
					var n = oa(), r = L(n, !0);
					z(() => Y(r, W(t))), J(e, n);
				}), Z(R(a), 17, () => W(t), Mr, (e, t) => {
					var n = sa(), i = L(n, !0);
					z((e) => Y(i, e), [() => W(r).kind === "discrete" ? W(t).toFixed(3) : $(W(t))]), J(e, n);
				}), k(i), J(e, i);
			}), k(p), k(l);
			var m = R(l, 2), h = (e) => {
				var t = la(), n = L(t);
				z(() => Y(n, `… ${W(s).rows.length - 200} more lines; export the model to see them.`)), J(e, t);
			};
			X(m, (e) => {
				W(s).rows.length > 200 && e(h);
			}), k(c), z(() => Y(o, `${W(s).parents.length || W(s).columns.length > 2 ? "Given its parents" : "By itself"}${n().shape.components.length > 1 ? ` (component ${t.component + 1})` : ""}`)), J(e, i);
		};
		X(ne, (e) => {
			W(s) && e(re);
		}), z(() => {
			Y(y, W(r).name), Y(S, `${W(r).hidden ? "Hidden: never observed. " : ""}${W(r).kind === "discrete" ? `${W(r).states.length} states` : "a number"}`);
		}), G("click", b, () => t.pick(null)), J(e, m);
	}, x = (e) => {
		var r = ha(), i = R(tn(r), 2), a = (e) => {
			var r = pa(), i = tn(r);
			Z(i, 21, () => W(o), ([e, t]) => e, (e, r) => {
				var i = /* @__PURE__ */ M(() => m(W(r), 2));
				let a = () => W(i)[0], o = () => W(i)[1];
				var s = fa(), c = I(s), l = L(I(c), !0);
				k(c);
				var u = R(c), d = L(u, !0), f = R(u);
				k(s), z((e) => {
					Y(l, a()), Y(d, e), Q(f, "aria-label", `Take back ${a()}`);
				}, [() => g(o(), a())]), G("click", c, () => t.pick(a())), G("click", f, () => n().set(a(), void 0)), J(e, s);
			}), k(i);
			var a = L(R(i, 2));
			z((e) => Y(a, `Log-probability of all this together: ${e ?? ""} nats.`), [() => $(n().log, 5)]), J(e, r);
		}, s = (e) => {
			J(e, ma());
		};
		X(i, (e) => {
			W(o).length ? e(a) : e(s, -1);
		}), J(e, r);
	};
	X(y, (e) => {
		W(r) ? e(b) : e(x, -1);
	}), k(v), J(e, v), We();
}
fr(["click", "input"]);
function va(e, t, n = !1) {
	if (e.kind === "continuous") return 110;
	let r = t ? e.states.length : Math.min(e.states.length, 8);
	return 28 + r * (n ? 26 : 20) + (e.states.length > r ? 18 : 0) + 8;
}
var ya = /* @__PURE__ */ q("<circle class=\"dot\" cy=\"14\" r=\"4\"></circle>"), ba = /* @__PURE__ */ q("<text class=\"mark\" y=\"18\" text-anchor=\"end\">hidden</text>"), xa = /* @__PURE__ */ q("<path class=\"diamond\" d=\"M5,10 l4,-4 l4,4 l-4,4 z\"></path>"), Sa = /* @__PURE__ */ q("<rect class=\"track\" y=\"14.5\" height=\"7\" rx=\"2\"></rect><rect class=\"bar second\" y=\"14.5\" height=\"7\" rx=\"2\"></rect>", 1), Ca = /* @__PURE__ */ q("<rect class=\"soft\" y=\"4\" height=\"12\" rx=\"2.5\"></rect>"), wa = /* @__PURE__ */ q("<text class=\"percent two\" y=\"23.5\" text-anchor=\"end\"> </text>"), Ta = /* @__PURE__ */ q("<g role=\"button\"><rect class=\"hit\" x=\"4\" rx=\"5\"></rect><!><text class=\"label\" x=\"16\" y=\"14\"> </text><rect class=\"track\" y=\"5.5\" rx=\"2\"></rect><rect class=\"bar\" y=\"5.5\" rx=\"2\"></rect><!><!><text class=\"percent\" y=\"14\" text-anchor=\"end\"> </text><!></g>"), Ea = /* @__PURE__ */ q("<g class=\"more\" role=\"button\" tabindex=\"0\"><rect class=\"hit\" x=\"4\" height=\"18\" rx=\"5\"></rect><text class=\"label\" x=\"16\"> </text></g>"), Da = /* @__PURE__ */ q("<!><!>", 1), Oa = /* @__PURE__ */ q("<path class=\"ghost\"></path>"), ka = /* @__PURE__ */ q("<line class=\"reach\"></line>"), Aa = /* @__PURE__ */ q("<path class=\"density\"></path><!>", 1), ja = /* @__PURE__ */ q("<path class=\"density second\"></path>"), Ma = /* @__PURE__ */ q("<line class=\"needle\"></line>"), Na = /* @__PURE__ */ q("<text class=\"percent two\" text-anchor=\"end\"> </text>"), Pa = /* @__PURE__ */ q("<g class=\"plot\" role=\"button\" tabindex=\"0\"><rect class=\"hit\" x=\"4\" rx=\"5\"></rect><line class=\"axis\" x1=\"10\"></line><!><!><!><!><text class=\"percent\" x=\"11\"> </text><!></g>"), Fa = /* @__PURE__ */ q("<g role=\"group\"><rect class=\"frame\" rx=\"9\"></rect><g class=\"head\" role=\"button\" tabindex=\"-1\"><rect class=\"grip\" rx=\"9\"></rect><text class=\"name\" x=\"11\" y=\"18.5\"> </text><!></g><!></g>");
function Ia(e, t) {
	Ue(t, !0);
	let n = mi(t, "open", 3, !1), r = /* @__PURE__ */ M(() => t.other ? 26 : 20), i = /* @__PURE__ */ M(() => va(t.variable, n(), !!t.other)), a = /* @__PURE__ */ M(() => n() ? t.variable.states : t.variable.states.slice(0, 8)), [o, s] = [92, 58], c = /* @__PURE__ */ P(0), l;
	function u(e) {
		t.set(t.finding?.state === e ? void 0 : { state: e });
	}
	function d(e, n, r = !1) {
		let i = t.finding?.likelihood ? [...t.finding.likelihood] : t.variable.states.map(() => 1);
		i[e] = Math.min(1, Math.max(0, Math.round(n * 100) / 100)), i.some((e) => e > 0) && t.set(i.every((e) => e === 1) ? void 0 : { likelihood: i }, r);
	}
	function f(e) {
		return new DOMPoint(e.clientX, e.clientY).matrixTransform(l.getScreenCTM().inverse());
	}
	function p(e, t) {
		if (e.stopPropagation(), !e.shiftKey) return;
		e.preventDefault();
		let n = e.currentTarget;
		n.setPointerCapture(e.pointerId);
		let r = (e, n) => d(t, (f(e).x - o) / s, n);
		r(e, !1), n.onpointermove = (e) => r(e, !0), n.onpointerup = () => n.onpointermove = n.onpointerup = null;
	}
	function m(e, n) {
		let r = l.querySelectorAll(".state");
		if (e.key === "Enter" || e.key === " ") u(n);
		else if (e.shiftKey && (e.key === "ArrowLeft" || e.key === "ArrowRight")) d(n, (t.finding?.likelihood?.[n] ?? 1) + (e.key === "ArrowRight" ? .1 : -.1));
		else if (e.key === "ArrowDown" && n + 1 < W(a).length) r[F(c, n + 1)]?.focus();
		else if (e.key === "ArrowUp" && n > 0) r[F(c, n - 1)]?.focus();
		else if (e.key === "i") t.pick();
		else return;
		e.preventDefault(), e.stopPropagation();
	}
	let h = /* @__PURE__ */ M(() => {
		let e = [
			...t.before?.normals ?? [],
			...t.answer?.normals ?? [],
			...t.other?.normals ?? []
		];
		if (!e.length) return [0, 1];
		let n = t.before?.normals?.length ? t.before.normals : e, r = Math.min(...n.map(([, e, t]) => e - 3.2 * t)), i = Math.max(...n.map(([, e, t]) => e + 3.2 * t));
		for (let [t, n, a] of e) t > .02 && (r = Math.min(r, n - 2 * a), i = Math.max(i, n + 2 * a));
		return t.finding?.value !== void 0 && (r = Math.min(r, t.finding.value), i = Math.max(i, t.finding.value)), i > r ? [r, i] : [r - 1, i + 1];
	}), g = (e) => 10 + (e - W(h)[0]) / (W(h)[1] - W(h)[0]) * 176;
	function _(e, t) {
		if (!e?.normals?.length) return "";
		let n = Array.from({ length: 81 }, (t, n) => v(e, W(h)[0] + n / 80 * (W(h)[1] - W(h)[0]))), r = Math.max(...n, 1e-300);
		return n.map((e, n) => `${n ? "L" : "M"}${(10 + n / 80 * 176).toFixed(1)},${(28 + t - e / r * (t - 8)).toFixed(1)}`).join("");
	}
	function v(e, t) {
		let n = (W(h)[1] - W(h)[0]) / 150;
		return e.normals.reduce((e, [r, i, a]) => {
			let o = Math.max(a, n);
			return e + r / o * Math.exp(-.5 * ((t - i) / o) ** 2);
		}, 0);
	}
	function y(e) {
		let n = f(e).x, r = W(h)[0] + (n - 10) / 176 * (W(h)[1] - W(h)[0]);
		t.set(t.finding?.value !== void 0 && Math.abs(g(t.finding.value) - n) < 5 ? void 0 : { value: Number(r.toPrecision(4)) });
	}
	var b = Fa();
	let x;
	var S = I(b);
	Q(S, "width", 196);
	var C = R(S), w = I(C);
	Q(w, "width", 196), Q(w, "height", 28);
	var T = R(w), ee = L(T, !0), te = R(T), ne = (e) => {
		var t = ya();
		Q(t, "cx", 182), J(e, t);
	}, re = (e) => {
		var t = ba();
		Q(t, "x", 185), J(e, t);
	};
	X(te, (e) => {
		t.finding ? e(ne) : t.variable.hidden && e(re, 1);
	}), k(C);
	var ie = R(C), ae = (e) => {
		var n = Da(), i = tn(n);
		Z(i, 17, () => W(a), Mr, (e, n, i) => {
			let a = /* @__PURE__ */ M(() => t.answer?.p?.[i] ?? 0);
			var l = Ta();
			let d;
			var f = I(l);
			Q(f, "width", 188);
			var h = R(f), g = (e) => {
				J(e, xa());
			};
			X(h, (e) => {
				t.best?.state === i && e(g);
			});
			var _ = R(h), v = L(_, !0), y = R(_), b = R(y), x = R(b), S = (e) => {
				var n = Sa(), r = tn(n), a = R(r);
				z(() => {
					Q(r, "x", o), Q(r, "width", s), Q(a, "x", o), Q(a, "width", s * (t.other.p?.[i] ?? 0));
				}), J(e, n);
			};
			X(x, (e) => {
				t.other && e(S);
			});
			var C = R(x), w = (e) => {
				var n = Ca();
				z(() => {
					Q(n, "x", o - .5), Q(n, "width", s * t.finding.likelihood[i] + 1);
				}), J(e, n);
			};
			X(C, (e) => {
				t.finding?.likelihood && e(w);
			});
			var T = R(C);
			Q(T, "x", 187);
			var ee = L(T, !0), te = R(T), ne = (e) => {
				var n = wa();
				Q(n, "x", 187);
				var r = L(n, !0);
				z((e) => Y(r, e), [() => wi(t.other.p?.[i] ?? 0)]), J(e, n);
			};
			X(te, (e) => {
				t.other && e(ne);
			}), k(l), z((e, n, a, u) => {
				d = Yr(l, 0, "state", null, d, {
					sure: t.finding?.state === i,
					best: t.best?.state === i
				}), Q(l, "transform", `translate(0,${28 + i * W(r)})`), Q(l, "tabindex", i === W(c) ? 0 : -1), Q(l, "aria-pressed", t.finding?.state === i), Q(l, "aria-label", e), Q(f, "height", W(r)), Y(v, n), Q(y, "x", o), Q(y, "width", s), Q(y, "height", t.other ? 7 : 9), Q(b, "x", o), Q(b, "width", a), Q(b, "height", t.other ? 7 : 9), Y(ee, u);
			}, [
				() => `${t.variable.name} is ${W(n)}: ${wi(W(a))} %`,
				() => Di(W(n), 11),
				() => Math.max(0, s * W(a)),
				() => t.answer ? wi(W(a)) : "…"
			]), G("click", l, (e) => !e.shiftKey && u(i)), G("keydown", l, (e) => m(e, i)), dr("focus", l, () => F(c, i, !0)), G("pointerdown", l, (e) => p(e, i)), J(e, l);
		});
		var l = R(i), d = (e) => {
			var n = Ea(), i = I(n);
			Q(i, "width", 188);
			var o = R(i), s = L(o);
			k(n), z(() => {
				Q(n, "aria-label", `Show all ${t.variable.states.length} states of ${t.variable.name}`), Q(i, "y", 28 + W(a).length * W(r)), Q(o, "y", 28 + W(a).length * W(r) + 13), Y(s, `+ ${t.variable.states.length - W(a).length} more`);
			}), G("click", n, function(...e) {
				t.unfold?.apply(this, e);
			}), G("keydown", n, (e) => e.key === "Enter" && t.unfold()), G("pointerdown", n, (e) => e.stopPropagation()), J(e, n);
		};
		X(l, (e) => {
			t.variable.states.length > W(a).length && e(d);
		}), J(e, n);
	}, oe = (e) => {
		var n = Pa(), r = I(n);
		Q(r, "y", 28), Q(r, "width", 188), Q(r, "height", 74);
		var i = R(r);
		Q(i, "x2", 186), Q(i, "y1", 80), Q(i, "y2", 80);
		var a = R(i), o = (e) => {
			var n = Oa();
			z((e) => Q(n, "d", e), [() => _(t.before, 52)]), J(e, n);
		};
		X(a, (e) => {
			t.before && t.finding === void 0 && e(o);
		});
		var s = R(a), c = (e) => {
			var n = Aa(), r = tn(n), i = R(r), a = (e) => {
				var n = ka();
				Q(n, "y1", 82.5), Q(n, "y2", 82.5), z((e, t) => {
					Q(n, "x1", e), Q(n, "x2", t);
				}, [() => Math.max(10, g(t.answer.quantiles[0])), () => Math.min(186, g(t.answer.quantiles[2]))]), J(e, n);
			};
			X(i, (e) => {
				t.answer.quantiles && e(a);
			}), z((e) => Q(r, "d", e), [() => `${_(t.answer, 52)}L186,80L10,80Z`]), J(e, n);
		};
		X(s, (e) => {
			t.answer?.normals && t.finding?.value === void 0 && e(c);
		});
		var l = R(s), u = (e) => {
			var n = ja();
			z((e) => Q(n, "d", e), [() => _(t.other, 52)]), J(e, n);
		};
		X(l, (e) => {
			t.other?.normals && e(u);
		});
		var d = R(l), f = (e) => {
			var n = Ma();
			Q(n, "y1", 32), Q(n, "y2", 82), z((e, t) => {
				Q(n, "x1", e), Q(n, "x2", t);
			}, [() => g(t.finding.value), () => g(t.finding.value)]), J(e, n);
		};
		X(d, (e) => {
			t.finding?.value !== void 0 && e(f);
		});
		var p = R(d);
		Q(p, "y", 98);
		var m = L(p, !0), h = R(p), v = (e) => {
			var n = Na();
			Q(n, "x", 187), Q(n, "y", 98);
			var r = L(n);
			z((e, t) => Y(r, `${e ?? ""} ± ${t ?? ""}`), [() => $(t.other.mean), () => $(t.other.sd, 3)]), J(e, n);
		};
		X(h, (e) => {
			t.other && t.finding?.value === void 0 && e(v);
		}), k(n), z((e, t) => {
			Q(n, "aria-label", e), Y(m, t);
		}, [() => `${t.variable.name}: mean ${$(t.answer?.mean)}, standard deviation ${$(t.answer?.sd)}. Press Enter to give a value.`, () => t.finding?.value === void 0 ? `${$(t.answer?.mean)} ± ${$(t.answer?.sd, 3)}` : $(t.finding.value)]), G("click", n, y), G("keydown", n, (e) => e.key === "Enter" && t.pick()), G("pointerdown", n, (e) => e.stopPropagation()), J(e, n);
	};
	X(ie, (e) => {
		t.variable.kind === "discrete" ? e(ae) : e(oe, -1);
	}), k(b), di(b, (e) => l = e, () => l), z((e) => {
		x = Yr(b, 0, "box", null, x, {
			selected: t.selected,
			hidden: t.variable.hidden,
			given: !!t.finding,
			found: t.found
		}), Q(b, "aria-label", t.variable.name), Q(S, "height", W(i)), Q(C, "aria-label", `About ${t.variable.name}`), Y(ee, e);
	}, [() => Di(t.variable.name, 24)]), G("pointerdown", C, function(...e) {
		t.drag?.apply(this, e);
	}), G("click", C, function(...e) {
		t.pick?.apply(this, e);
	}), dr("pointerenter", C, (e) => t.hover(e)), dr("pointerleave", C, () => t.hover(null)), J(e, b), We();
}
fr([
	"pointerdown",
	"click",
	"keydown"
]);
// src/lib/picture.ts
var La = [
	"fill",
	"stroke",
	"stroke-width",
	"stroke-dasharray",
	"opacity",
	"fill-opacity",
	"font-size",
	"font-weight",
	"font-family",
	"display"
], Ra = "rect,path,text,line,circle";
function za(e, t, n, r = () => {}) {
	let i = e.cloneNode(!0), a = e.querySelectorAll(Ra);
	i.querySelectorAll(Ra).forEach((e, t) => {
		let n = getComputedStyle(a[t]);
		for (let t of La) e.setAttribute(t, n.getPropertyValue(t));
		e.removeAttribute("class");
	}), i.querySelectorAll("[tabindex]").forEach((e) => e.removeAttribute("tabindex")), r(i), i.setAttribute("xmlns", "http://www.w3.org/2000/svg"), i.setAttribute("width", String(Math.ceil(t))), i.setAttribute("height", String(Math.ceil(n)));
	let o = document.createElementNS("http://www.w3.org/2000/svg", "rect");
	for (let [t, n] of [
		["width", "100%"],
		["height", "100%"],
		["fill", Ba(e)]
	]) o.setAttribute(t, n);
	return i.prepend(o), new XMLSerializer().serializeToString(i);
}
function Ba(e) {
	for (let t = e; t; t = t.parentElement) {
		let e = getComputedStyle(t).backgroundColor;
		if (e !== "rgba(0, 0, 0, 0)" && e !== "transparent") return e;
	}
	return "#ffffff";
}
// src/parts/Monitor.svelte
var Va = /* @__PURE__ */ q("<marker viewBox=\"0 0 8 8\" refX=\"3\" refY=\"4\" markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0,0L8,4L0,8Z\"></path></marker>"), Ha = /* @__PURE__ */ q("<path><title> </title></path>"), Ua = /* @__PURE__ */ q("<g><!></g>"), Wa = /* @__PURE__ */ q("<svg role=\"application\" tabindex=\"0\"><defs></defs><g class=\"world\"><!><!></g></svg>");
function Ga(e, t) {
	let n = xr();
	Ue(t, !0);
	let r = mi(t, "best", 3, null), i = mi(t, "probable", 3, !1), a = mi(t, "side", 3, "a"), o = mi(t, "whole", 3, !1), s = mi(t, "selected", 3, null), c = mi(t, "sought", 3, ""), l = mi(t, "hover", 3, () => {}), u, d = /* @__PURE__ */ P(Kt(/* @__PURE__ */ new Map())), f = /* @__PURE__ */ P(Kt(/* @__PURE__ */ new Set())), p = /* @__PURE__ */ P(Kt({
		x: 0,
		y: 0,
		k: 1
	})), h = /* @__PURE__ */ P(!1), g = /* @__PURE__ */ M(() => new Map(t.variables.map((e) => [e.name, e]))), _ = (e) => ({
		width: 196,
		height: va(W(g).get(e), W(f).has(e), !!t.others)
	}), v = /* @__PURE__ */ M(() => JSON.stringify([t.variables.map((e) => [e.name, e.states.length]), t.arcs])), y = /* @__PURE__ */ P(1.5), b = /* @__PURE__ */ M(() => (W(v), Mi(t.variables.map((e) => e.name), t.arcs, _, 24, 50, W(y)))), x = (e) => W(d).get(e) ?? W(b).at.get(e), S = /* @__PURE__ */ M(() => Math.max(1e-12, ...[...t.strengths?.values() ?? []].map((e) => e.nats)));
	mn(() => {
		W(v), ir(() => {
			F(d, /* @__PURE__ */ new Map(), !0);
			let { width: e, height: t } = u.getBoundingClientRect();
			e && t && F(y, Math.min(3, Math.max(.5, e / t)), !0), C();
		});
	}), mn(() => {
		let e = t.variables.find((e) => c() && e.name.toLowerCase().includes(c().toLowerCase()))?.name;
		e && ir(() => T(e));
	});
	function C() {
		let { width: e, height: t } = u.getBoundingClientRect();
		if (!e || !t) return;
		let n = Math.min(1.25, (e - 32) / Math.max(W(b).width, 1), (t - 32) / Math.max(W(b).height, 1)), r = e < 600 && !o() ? Math.max(n, .5) : n;
		F(p, {
			k: r,
			x: (e - W(b).width * r) / 2,
			y: Math.max(16, (t - W(b).height * r) / 2)
		}, !0);
	}
	function w(e, t, n) {
		let { width: r, height: i } = u.getBoundingClientRect(), [a, o] = [t ?? r / 2, n ?? i / 2], s = Math.min(3, Math.max(.08, W(p).k * e));
		F(p, {
			k: s,
			x: a - (a - W(p).x) / W(p).k * s,
			y: o - (o - W(p).y) / W(p).k * s
		}, !0);
	}
	function T(e) {
		let { width: t, height: n } = u.getBoundingClientRect(), r = x(e), i = Math.max(W(p).k, .8);
		F(p, {
			k: i,
			x: t / 2 - (r.x + 98) * i,
			y: n / 2 - (r.y + _(e).height / 2) * i
		}, !0);
	}
	function ee() {
		let [e, t] = [W(b).width + 32, W(b).height + 32];
		return za(u, e, t, (n) => {
			n.querySelector(".world").setAttribute("transform", "translate(16,16)"), n.setAttribute("viewBox", `0 0 ${e} ${t}`);
		});
	}
	function te(e, t) {
		let [n, r] = [x(e), x(t)], i = {
			x: n.x + 98,
			y: n.y + _(e).height
		}, a = {
			x: r.x + 98,
			y: r.y - 7
		};
		return Wi([
			i,
			...W(d).has(e) || W(d).has(t) ? [] : W(b).bends.get(ji(e, t)) ?? [],
			a
		]);
	}
	function ne(e, n) {
		let r = t.strengths?.get(ji(e, n));
		return r === void 0 ? 1.4 : 1 + 4 * (i() && r.p !== void 0 ? r.p : Math.log1p(r.nats * 50) / Math.log1p(W(S) * 50));
	}
	function re(e, n) {
		let r = t.strengths?.get(ji(e, n)), i = r ? [`${r.nats.toPrecision(3)} nats`, ...r.p === void 0 ? [] : [`probability ${wi(r.p)} %`]] : [];
		return `${e} → ${n}${i.length ? `: ${i.join(", ")}` : ""}`;
	}
	function ie(e, t) {
		e.stopPropagation();
		let n = e.currentTarget, r = x(t), [i, a] = [e.clientX, e.clientY];
		n.setPointerCapture(e.pointerId), n.onpointermove = (e) => {
			Math.hypot(e.clientX - i, e.clientY - a) < 4 || F(d, new Map(W(d)).set(t, {
				x: r.x + (e.clientX - i) / W(p).k,
				y: r.y + (e.clientY - a) / W(p).k
			}), !0);
		}, n.onpointerup = () => n.onpointermove = n.onpointerup = null;
	}
	function ae(e) {
		if (e.button !== 0) return;
		let n = { ...W(p) }, [r, i] = [e.clientX, e.clientY];
		u.setPointerCapture(e.pointerId), F(h, !0), u.onpointermove = (e) => F(p, {
			...W(p),
			x: n.x + e.clientX - r,
			y: n.y + e.clientY - i
		}, !0), u.onpointerup = (e) => {
			u.onpointermove = u.onpointerup = null, F(h, !1), Math.hypot(e.clientX - r, e.clientY - i) < 4 && t.pick(null);
		};
	}
	function oe(e) {
		e.preventDefault();
		let t = u.getBoundingClientRect();
		w(Math.exp(-e.deltaY * (e.ctrlKey ? .01 : .0015)), e.clientX - t.left, e.clientY - t.top);
	}
	function se(e) {
		if (e.target === u || [
			"+",
			"-",
			"0"
		].includes(e.key)) {
			if (e.key === "+" || e.key === "=") w(1.2);
			else if (e.key === "-") w(1 / 1.2);
			else if (e.key === "0") C();
			else if (e.key.startsWith("Arrow")) F(p, {
				...W(p),
				x: W(p).x + (e.key === "ArrowLeft" ? 60 : e.key === "ArrowRight" ? -60 : 0),
				y: W(p).y + (e.key === "ArrowUp" ? 60 : e.key === "ArrowDown" ? -60 : 0)
			}, !0);
			else return;
			e.preventDefault();
		}
	}
	var ce = {
		fit: C,
		zoom: w,
		center: T,
		picture: ee
	}, le = Wa();
	let ue;
	var de = I(le);
	Z(de, 20, () => ["tip", "tip-own"], (e) => e, (e, t) => {
		var r = Va(), i = L(r);
		z(() => {
			Q(r, "id", `${t}-${n}`), Yr(i, 0, Ur(t));
		}), J(e, r);
	}), k(de);
	var fe = R(de), pe = I(fe);
	return Z(pe, 17, () => t.arcs, ([e, t]) => ji(e, t), (e, r) => {
		var i = /* @__PURE__ */ M(() => m(W(r), 2));
		let a = () => W(i)[0], o = () => W(i)[1], c = /* @__PURE__ */ M(() => t.own?.has(ji(a(), o()))), l = /* @__PURE__ */ M(() => s() === a() || s() === o());
		var u = Ha();
		let d;
		var f = L(I(u), !0);
		k(u), z((e, t, r) => {
			d = Yr(u, 0, "arc", null, d, {
				own: W(c),
				near: W(l)
			}), Q(u, "d", e), Q(u, "stroke-width", t), Q(u, "marker-end", `url(#${W(c) ? "tip-own" : "tip"}-${n})`), Y(f, r);
		}, [
			() => te(a(), o()),
			() => ne(a(), o()),
			() => re(a(), o())
		]), J(e, u);
	}), Z(R(pe), 17, () => t.variables, (e) => e.name, (e, n) => {
		let i = /* @__PURE__ */ M(() => x(W(n).name));
		var a = Ua(), o = I(a);
		{
			let e = /* @__PURE__ */ M(() => t.answers.get(W(n).name)), i = /* @__PURE__ */ M(() => t.before?.get(W(n).name)), a = /* @__PURE__ */ M(() => t.others?.get(W(n).name)), u = /* @__PURE__ */ M(() => r()?.[W(n).name]), d = /* @__PURE__ */ M(() => s() === W(n).name), p = /* @__PURE__ */ M(() => !!c() && W(n).name.toLowerCase().includes(c().toLowerCase())), m = /* @__PURE__ */ M(() => W(f).has(W(n).name));
			Ia(o, {
				get variable() {
					return W(n);
				},
				get answer() {
					return W(e);
				},
				get before() {
					return W(i);
				},
				get other() {
					return W(a);
				},
				get finding() {
					return t.given[W(n).name];
				},
				get best() {
					return W(u);
				},
				get selected() {
					return W(d);
				},
				get found() {
					return W(p);
				},
				get open() {
					return W(m);
				},
				set: (e, r) => t.set(W(n).name, e, r),
				pick: () => t.pick(W(n).name),
				unfold: () => F(f, new Set(W(f)).add(W(n).name), !0),
				drag: (e) => ie(e, W(n).name),
				hover: (e) => l()(e ? W(n).name : null, e)
			});
		}
		k(a), z(() => Q(a, "transform", `translate(${W(i).x},${W(i).y})`)), J(e, a);
	}), k(fe), k(le), di(le, (e) => u = e, () => u), z(() => {
		ue = Yr(le, 0, `monitor side-${a() ?? ""}`, null, ue, {
			panning: W(h),
			lively: t.variables.length <= 16
		}), Q(le, "aria-label", `${t.title}: ${t.variables.length} variables. Tab goes from box to box, arrows from state to state, Enter makes a finding.`), Q(fe, "transform", `translate(${W(p).x},${W(p).y}) scale(${W(p).k})`);
	}), G("pointerdown", le, ae), dr("wheel", le, oe), G("keydown", le, se), J(e, le), We(ce);
}
fr(["pointerdown", "keydown"]);
// src/parts/Overview.svelte
var Ka = /* @__PURE__ */ K("<canvas class=\"overview svelte-hfsy0v\"></canvas>");
function qa(e, t) {
	Ue(t, !0);
	let [n, r] = [96, 22], i, a = {
		x: 0,
		y: 0,
		k: 1
	}, o = 0, s = /* @__PURE__ */ M(() => Mi(t.variables.map((e) => e.name), t.arcs, () => ({
		width: n,
		height: r
	}), 8, 46)), c = /* @__PURE__ */ M(() => t.arcs.map(([e, t]) => {
		let [i, a] = [W(s).at.get(e), W(s).at.get(t)];
		return {
			a: e,
			b: t,
			x1: i.x + n / 2,
			y1: i.y + r,
			x2: a.x + n / 2,
			y2: a.y
		};
	}));
	mn(() => {
		W(s), ir(l);
	}), mn(() => {
		t.given, t.selected, t.near, W(c), p();
	}), mn(() => {
		let e = t.variables.find((e) => t.sought && e.name.toLowerCase().includes(t.sought.toLowerCase()))?.name;
		e && ir(() => f(e));
	}), mn(() => {
		let e = new ResizeObserver(() => p());
		return e.observe(i), () => e.disconnect();
	});
	function l() {
		let { width: e, height: t } = i.getBoundingClientRect(), n = Math.min(1.2, (e - 24) / Math.max(1, W(s).width), (t - 24) / Math.max(1, W(s).height));
		a = {
			k: n,
			x: (e - W(s).width * n) / 2,
			y: (t - W(s).height * n) / 2
		}, p();
	}
	function u(e) {
		let { width: t, height: n } = i.getBoundingClientRect();
		d(e, t / 2, n / 2);
	}
	function d(e, t, n) {
		let r = Math.min(3, Math.max(.01, a.k * e));
		a = {
			k: r,
			x: t - (t - a.x) / a.k * r,
			y: n - (n - a.y) / a.k * r
		}, p();
	}
	function f(e) {
		let { width: t, height: r } = i.getBoundingClientRect(), o = W(s).at.get(e), c = Math.max(a.k, .7);
		a = {
			k: c,
			x: t / 2 - (o.x + n / 2) * c,
			y: r / 2 - o.y * c
		}, p();
	}
	function p() {
		o ||= requestAnimationFrame(m);
	}
	function m() {
		if (o = 0, !i) return;
		let e = devicePixelRatio || 1, { width: l, height: u } = i.getBoundingClientRect();
		(i.width !== Math.round(l * e) || i.height !== Math.round(u * e)) && (i.width = Math.round(l * e), i.height = Math.round(u * e));
		let d = i.getContext("2d"), f = getComputedStyle(i), p = (e) => f.getPropertyValue(e);
		d.setTransform(e, 0, 0, e, 0, 0), d.clearRect(0, 0, l, u), d.translate(a.x, a.y), d.scale(a.k, a.k);
		let [m, h, g, _] = [
			-a.x / a.k - n,
			-a.y / a.k - r,
			(l - a.x) / a.k,
			(u - a.y) / a.k
		];
		d.lineWidth = Math.max(.8, .8 / a.k);
		for (let e of [!1, !0]) {
			d.beginPath(), d.strokeStyle = p(e ? "--accent" : "--strong-line");
			for (let n of W(c)) {
				if ((n.a === t.selected || n.b === t.selected) !== e || Math.max(n.y1, n.y2) < h || Math.min(n.y1, n.y2) > _ || Math.max(n.x1, n.x2) < m || Math.min(n.x1, n.x2) > g) continue;
				let r = (n.y2 - n.y1) / 2;
				d.moveTo(n.x1, n.y1), d.bezierCurveTo(n.x1, n.y1 + r, n.x2, n.y2 - r, n.x2, n.y2);
			}
			d.stroke();
		}
		d.font = "11px system-ui, sans-serif", d.textAlign = "center";
		let [v, y, b, x, S, C] = [
			"--card",
			"--strong-line",
			"--accent",
			"--given",
			"--ink",
			"--accent-wash"
		].map(p), w = t.sought.toLowerCase();
		for (let e of t.variables) {
			let i = W(s).at.get(e.name);
			if (i.x < m || i.x > g || i.y < h || i.y > _) continue;
			let o = w && e.name.toLowerCase().includes(w);
			d.fillStyle = t.near.has(e.name) || o ? C : v, d.strokeStyle = t.given[e.name] ? x : e.name === t.selected || t.near.has(e.name) || o ? b : y, d.beginPath(), d.roundRect(i.x, i.y, n, r, 6), d.fill(), d.stroke(), a.k > .35 && (d.fillStyle = S, d.fillText(e.name.length > 15 ? e.name.slice(0, 14) + "…" : e.name, i.x + n / 2, i.y + 15));
		}
	}
	function h(e) {
		let o = { ...a }, [c, l] = [e.clientX, e.clientY];
		i.setPointerCapture(e.pointerId), i.onpointermove = (e) => {
			a = {
				...a,
				x: o.x + e.clientX - c,
				y: o.y + e.clientY - l
			}, p();
		}, i.onpointerup = (e) => {
			if (i.onpointermove = i.onpointerup = null, Math.hypot(e.clientX - c, e.clientY - l) > 4) return;
			let o = i.getBoundingClientRect(), [u, d] = [(e.clientX - o.left - a.x) / a.k, (e.clientY - o.top - a.y) / a.k];
			t.pick(t.variables.find((e) => {
				let t = W(s).at.get(e.name);
				return u >= t.x && u <= t.x + n && d >= t.y && d <= t.y + r;
			})?.name ?? null);
		};
	}
	function g(e) {
		e.preventDefault();
		let t = i.getBoundingClientRect();
		d(Math.exp(-e.deltaY * .0015), e.clientX - t.left, e.clientY - t.top);
	}
	var _ = {
		fit: l,
		zoom: u
	}, v = Ka();
	return di(v, (e) => i = e, () => i), z(() => Q(v, "aria-label", `Overview of ${t.variables.length} variables. Use the search to choose one.`)), G("pointerdown", v, h), dr("wheel", v, g), J(e, v), We(_);
}
fr(["pointerdown"]);
// src/parts/GraphView.svelte
var Ja = /* @__PURE__ */ K("<option></option>"), Ya = /* @__PURE__ */ K("<p class=\"problem\" role=\"alert\"> <button class=\"plain\">Undo</button></p>"), Xa = /* @__PURE__ */ K("<p class=\"waiting\" role=\"status\">Working it out… The first questions after installing compile the engine; that can take a minute, once.</p>"), Za = /* @__PURE__ */ K("<p class=\"waiting\" role=\"note\"> </p>"), Qa = /* @__PURE__ */ K("<div class=\"pane\"><!></div>"), $a = /* @__PURE__ */ K("<th> </th>"), eo = /* @__PURE__ */ K("<th class=\"num\"> </th>"), to = /* @__PURE__ */ K("<td> </td>"), no = /* @__PURE__ */ K("<td class=\"num\"> </td>"), ro = /* @__PURE__ */ K("<tr><!><!></tr>"), io = /* @__PURE__ */ K("<p class=\"faint small\"> </p>"), ao = /* @__PURE__ */ K("<div class=\"tip card\"><h3> </h3> <table><thead><tr><!><!></tr></thead><tbody></tbody></table> <!></div>"), oo = /* @__PURE__ */ K("<div class=\"view\"><div class=\"tools row\" role=\"toolbar\" aria-label=\"Graph\"><input type=\"search\" placeholder=\"Find a variable\" aria-label=\"Find a variable\" list=\"names\"/> <datalist id=\"names\"></datalist> <button class=\"plain\" title=\"Undo (Ctrl Z)\" aria-label=\"Undo\">↶</button> <button class=\"plain\" title=\"Redo (Ctrl Shift Z)\" aria-label=\"Redo\">↷</button> <button>Clear findings</button> <button title=\"The jointly most probable states of all variables\">Most probable explanation</button> <span class=\"grow\"></span> <button class=\"plain\" aria-label=\"Zoom out\">−</button> <button class=\"plain\" aria-label=\"Zoom in\">+</button> <button>Fit</button></div> <!> <!> <!> <div><!> <!> <!></div> <!> <span class=\"visually-hidden\" role=\"status\"> </span></div>");
function so(e, t) {
	Ue(t, !0);
	let n = mi(t, "probable", 3, !1), r = mi(t, "component", 3, null), i = /* @__PURE__ */ P(void 0), a = /* @__PURE__ */ P(void 0), o = /* @__PURE__ */ P(null), s = /* @__PURE__ */ P(""), c = /* @__PURE__ */ P(null), l = 0, u = /* @__PURE__ */ M(() => t.asking.shape), d = /* @__PURE__ */ M(() => W(u).variables.length > 150), f = /* @__PURE__ */ M(() => r() === null ? W(u).arcs : W(u).components[r()].arcs), p = /* @__PURE__ */ M(() => {
		if (!W(o)) return /* @__PURE__ */ new Set();
		let e = /* @__PURE__ */ new Set([W(o)]);
		for (let [t, n] of W(f)) t === W(o) && e.add(n), n === W(o) && e.add(t);
		return new Set([...e].slice(0, 60));
	}), m = /* @__PURE__ */ M(() => W(d) ? W(u).variables.filter((e) => W(p).has(e.name)) : W(u).variables), h = /* @__PURE__ */ M(() => W(d) ? W(f).filter(([e, t]) => W(p).has(e) && W(p).has(t)) : W(f));
	function g() {
		return W(i)?.picture() ?? "";
	}
	function _(e, n) {
		if (clearTimeout(l), F(c, null), !e || !n || e === W(u).component || e === W(o) || n.pointerType !== "mouse") return;
		let [i, a] = [n.clientX, n.clientY];
		l = window.setTimeout(async () => {
			try {
				F(c, {
					family: await t.asking.asker.family(e, r() ?? 0),
					x: i,
					y: a
				});
			} catch {
				F(c, null);
			}
		}, 450);
	}
	function v(e) {
		if (!(e.ctrlKey || e.metaKey)) return;
		let n = e.target instanceof HTMLInputElement && e.target.type === "text";
		e.key.toLowerCase() === "z" && !n ? (e.preventDefault(), e.shiftKey ? t.asking.redo() : t.asking.undo()) : e.key.toLowerCase() === "y" && !n && (e.preventDefault(), t.asking.redo());
	}
	let y = (e, t) => {
		let n = [];
		for (let r of [...e.parent_states].reverse()) n.unshift(r[t % r.length]), t = Math.floor(t / r.length);
		return n;
	};
	var b = {
		LARGE: 150,
		picture: g
	}, x = oo();
	dr("keydown", qt, v);
	var S = I(x), C = I(S);
	ni(C);
	var w = R(C, 2);
	Z(w, 21, () => W(u).variables, (e) => e.name, (e, t) => {
		var n = Ja(), r = {};
		z(() => {
			r !== (r = W(t).name) && (n.value = (n.__value = r) ?? "");
		}), J(e, n);
	}), k(w);
	var T = R(w, 2), ee = R(T, 2), te = R(ee, 2), ne = R(te, 2);
	let re;
	var ie = R(ne, 4), ae = R(ie, 2), oe = R(ae, 2);
	k(S);
	var se = R(S, 2), ce = (e) => {
		var n = Ya(), r = I(n), i = R(r);
		k(n), z(() => Y(r, `${t.asking.problem ?? ""} `)), G("click", i, () => t.asking.undo()), J(e, n);
	};
	X(se, (e) => {
		t.asking.problem && e(ce);
	});
	var le = R(se, 2), ue = (e) => {
		J(e, Xa());
	};
	X(le, (e) => {
		t.asking.slow && e(ue);
	});
	var de = R(le, 2), fe = (e) => {
		var n = Za(), r = L(n);
		z((e) => Y(r, `This network is too wide for exact answers: these are drawn, with a standard error of at most ${e ?? ""} percentage points.`), [() => wi(t.asking.drawn)]), J(e, n);
	};
	X(de, (e) => {
		t.asking.drawn && e(fe);
	});
	var pe = R(de, 2);
	let me;
	var E = I(pe), he = (e) => {
		var n = Qa();
		di(qa(I(n), {
			get variables() {
				return W(u).variables;
			},
			get arcs() {
				return W(f);
			},
			get given() {
				return t.asking.given;
			},
			get selected() {
				return W(o);
			},
			get near() {
				return W(p);
			},
			get sought() {
				return W(s);
			},
			pick: (e) => F(o, e, !0)
		}), (e) => F(a, e, !0), () => W(a)), k(n), J(e, n);
	};
	X(E, (e) => {
		W(d) && e(he);
	});
	var ge = R(E, 2), _e = (e) => {
		var r = Qa(), a = I(r);
		{
			let e = /* @__PURE__ */ M(() => W(d) ? "" : W(s));
			di(Ga(a, {
				get title() {
					return t.title;
				},
				get variables() {
					return W(m);
				},
				get arcs() {
					return W(h);
				},
				get answers() {
					return t.asking.answers;
				},
				get before() {
					return t.asking.before;
				},
				get given() {
					return t.asking.given;
				},
				get best() {
					return t.asking.best;
				},
				get strengths() {
					return t.strengths;
				},
				get probable() {
					return n();
				},
				get selected() {
					return W(o);
				},
				get sought() {
					return W(e);
				},
				set: (e, n, r) => t.asking.set(e, n, r),
				pick: (e) => {
					_(null, null), (!W(d) || e) && F(o, e, !0);
				},
				hover: _
			}), (e) => F(i, e, !0), () => W(i));
		}
		k(r), J(e, r);
	};
	X(ge, (e) => {
		(!W(d) || W(o)) && e(_e);
	});
	var ve = R(ge, 2);
	{
		let e = /* @__PURE__ */ M(() => r() ?? 0);
		_a(ve, {
			get asking() {
				return t.asking;
			},
			get name() {
				return W(o);
			},
			get component() {
				return W(e);
			},
			pick: (e) => F(o, e, !0)
		});
	}
	k(pe);
	var D = R(pe, 2), ye = (e) => {
		var t = ao();
		let n;
		var r = I(t), i = L(r), a = R(r, 2), o = I(a), s = I(o), l = I(s);
		Z(l, 16, () => W(c).family.parents, (e) => e, (e, t) => {
			var n = $a(), r = L(n, !0);
			z(() => Y(r, t)), J(e, n);
		}), Z(R(l), 17, () => W(c).family.columns, Mr, (e, t) => {
			var n = eo(), r = L(n, !0);
			z(() => Y(r, W(t))), J(e, n);
		}), k(s), k(o);
		var u = R(o);
		Z(u, 21, () => W(c).family.rows.slice(0, 8), Mr, (e, t, n) => {
			var r = ro(), i = I(r);
			Z(i, 17, () => y(W(c).family, n), Mr, (e, t) => {
				var n = to(), r = L(n, !0);
				z(() => Y(r, W(t))), J(e, n);
			}), Z(R(i), 17, () => W(t), Mr, (e, t) => {
				var n = no(), r = L(n, !0);
				z((e) => Y(r, e), [() => $(W(t), 3)]), J(e, n);
			}), k(r), J(e, r);
		}), k(u), k(a);
		var d = R(a, 2), f = (e) => {
			var t = io(), n = L(t);
			z(() => Y(n, `… ${W(c).family.rows.length - 8} more; click the name to see them`)), J(e, t);
		};
		X(d, (e) => {
			W(c).family.rows.length > 8 && e(f);
		}), k(t), z((e, r, a) => {
			n = Zr(t, "", n, {
				left: e,
				top: r
			}), Y(i, `${W(c).family.name ?? ""}${a ?? ""}`);
		}, [
			() => `${Math.min(W(c).x + 14, innerWidth - 340)}px`,
			() => `${Math.min(W(c).y + 14, innerHeight - 220)}px`,
			() => W(c).family.parents.length ? `, given ${W(c).family.parents.join(", ")}` : ""
		]), J(e, t);
	};
	X(D, (e) => {
		W(c) && e(ye);
	});
	var O = L(R(D, 2));
	return k(x), z((e, n) => {
		T.disabled = !t.asking.past.length, ee.disabled = !t.asking.future.length, te.disabled = e, Q(ne, "aria-pressed", !!t.asking.best), re = Yr(ne, 1, "", null, re, { on: !!t.asking.best }), me = Yr(pe, 1, "stage", null, me, { split: W(d) && W(o) }), Y(O, `${n ?? ""} findings given`);
	}, [() => !Object.keys(t.asking.given).length, () => Object.keys(t.asking.given).length]), G("change", C, () => {
		let e = W(u).variables.find((e) => e.name === W(s));
		e && F(o, e.name, !0);
	}), si(C, () => W(s), (e) => F(s, e)), G("click", T, () => t.asking.undo()), G("click", ee, () => t.asking.redo()), G("click", te, () => t.asking.become({})), G("click", ne, () => t.asking.explain()), G("click", ie, () => (W(d) && !W(o) ? W(a) : W(i))?.zoom(1 / 1.25)), G("click", ae, () => (W(d) && !W(o) ? W(a) : W(i))?.zoom(1.25)), G("click", oe, () => (W(i)?.fit(), W(a)?.fit())), J(e, x), We(b);
}
fr(["change", "click"]);
// src/Page.svelte
var co = /* @__PURE__ */ K("<header><h1> </h1><p class=\"help\"> </p></header>"), lo = /* @__PURE__ */ K("<div><!> <!></div>");
function uo(e, t) {
	Ue(t, !0);
	let n = mi(t, "given", 19, () => ({})), r = mi(t, "bare", 3, !1), i = new Ci(t.model, Oi(t.model, t.make), n(), t.told);
	var a = lo();
	let o;
	var s = I(a), c = (e) => {
		var n = co(), r = I(n), i = L(r, !0), a = L(R(r));
		k(n), z((e, n) => {
			Y(i, t.model.title), Y(a, `${e ?? ""}, ${n ?? ""}. Click a state to say that it is so: all bars show what follows. Everything is worked out in this page.`);
		}, [() => Ei(t.model.variables.length, "variable"), () => Ei(t.model.arcs.length, "arc")]), J(e, n);
	};
	X(s, (e) => {
		r() || e(c);
	}), so(R(s, 2), {
		get asking() {
			return i;
		},
		get title() {
			return t.model.title;
		}
	}), k(a), z(() => o = Yr(a, 1, "alone", null, o, { bare: r() })), J(e, a), We();
}
// src/widget.ts
function fo({ model: e, el: t }) {
	let n = Er(uo, {
		target: t,
		props: {
			model: e.get("network"),
			make: (e) => new vi(e),
			given: e.get("findings"),
			bare: !0,
			told: (t) => {
				e.set("findings", JSON.parse(JSON.stringify(t))), e.save_changes();
			}
		}
	});
	return () => void Ar(n);
}
var po = { render: fo };
export { po as default };
