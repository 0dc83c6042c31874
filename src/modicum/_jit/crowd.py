"""Loops over labels of pairs (gomes2011, section 7.3.1), by view: the pairs of one item in one answer.

`view_start` says where the pairs of a view start in `other` (the other item) and `edge` (the label). Matrices of items
and maps of workers are flat: `P[i]` has D * D entries, and `T[j]` is the D * D x D * D matrix of S -> E[W_j S W_j].
"""

import math

from modicum._jit import compiled, compiled_sums


@compiled_sums
def sum_view(v, view_start, other, edge, half, curve, mu, P, pull, drag, Q):
    """Sums over the pairs of a view: of half labels and of curvatures, times means and second moments of the others."""
    D = mu.shape[1]
    for d in range(D):
        pull[d] = drag[d] = 0.0
    for c in range(D * D):
        Q[c] = 0.0
    for e in range(view_start[v], view_start[v + 1]):
        o, t = other[e], edge[e]
        for d in range(D):
            pull[d] += half[t] * mu[o, d]
            drag[d] += curve[t] * mu[o, d]
        for c in range(D * D):
            Q[c] += curve[t] * P[o, c]


@compiled_sums
def add_item(i, item_start, view_worker, view_start, other, edge, half, curve, M, G, T, mu, P, work, precision, shift):
    """Add what the labels of item i say to its precision (D * D) and to its precision times mean (D)."""
    D = mu.shape[1]
    pull, drag, Q = work[0], work[1], work[2]
    for v in range(item_start[i], item_start[i + 1]):
        j = view_worker[v]
        sum_view(v, view_start, other, edge, half, curve, mu, P, pull, drag, Q)
        for d in range(D):
            for f in range(D):
                shift[d] += M[j, d * D + f] * pull[f] - G[j, d * D + f] * drag[f]
        for c in range(D * D):
            total = 0.0
            for b in range(D * D):
                total += T[j, c, b] * Q[b]
            precision[c] += total


@compiled
def invert(A, D, L, out):
    """out = the inverse of a positive definite matrix, by Cholesky's factor; both are flat. Returns log det A."""
    log_det = 0.0
    for d in range(D):
        for f in range(d + 1):
            total = A[d * D + f]
            for c in range(f):
                total -= L[d * D + c] * L[f * D + c]
            if d == f:
                if not total > 0.0:
                    return math.nan
                L[d * D + d] = math.sqrt(total)
                log_det += math.log(total)
            else:
                L[d * D + f] = total / L[f * D + f]
    for b in range(D):  # column b of the inverse: forward, then backward substitution
        for d in range(D):
            total = 1.0 if d == b else 0.0
            for c in range(d):
                total -= L[d * D + c] * out[c * D + b]
            out[d * D + b] = total / L[d * D + d]
        for d in range(D - 1, -1, -1):
            total = out[d * D + b]
            for c in range(d + 1, D):
                total -= L[c * D + d] * out[c * D + b]
            out[d * D + b] = total / L[d * D + d]
    return log_det


@compiled
def update_items(
    item_start, view_worker, view_start, other, edge, half, curve, M, G, T, item_variance, mu, cov, P, log_det, work
):
    """Mean and covariance of each item in turn, given all others: eq. 7.3.9 with full covariances.

    `log_det` receives log det of the covariances. `work` has 6 rows of D * D numbers.
    """
    D = mu.shape[1]
    precision, L = work[3], work[4]
    shift = work[5]
    for i in range(mu.shape[0]):
        for c in range(D * D):
            precision[c] = 0.0
        for d in range(D):
            precision[d * D + d] = 1.0 / item_variance
            shift[d] = 0.0
        add_item(
            i, item_start, view_worker, view_start, other, edge, half, curve, M, G, T, mu, P, work, precision, shift
        )
        log_det[i] = -invert(precision, D, L, cov[i])
        for d in range(D):
            total = 0.0
            for f in range(D):
                total += cov[i, d * D + f] * shift[f]
            mu[i, d] = total
        for d in range(D):
            for f in range(D):
                P[i, d * D + f] = cov[i, d * D + f] + mu[i, d] * mu[i, f]


@compiled_sums
def sum_workers(item_start, view_worker, view_start, other, edge, half, curve, mu, P, work, K, H, R):
    """Sums over the labels of each worker: of curvatures times P_a x P_b (K), and of half labels and curvatures times
    mu_a mu_b^T (H and R). Every label is in the views of both of its items, so all are counted twice."""
    D = mu.shape[1]
    pull, drag, Q = work[0], work[1], work[2]
    for i in range(mu.shape[0]):
        for v in range(item_start[i], item_start[i + 1]):
            j = view_worker[v]
            sum_view(v, view_start, other, edge, half, curve, mu, P, pull, drag, Q)
            for d in range(D):
                for f in range(D):
                    H[j, d * D + f] += mu[i, d] * pull[f]
                    R[j, d * D + f] += mu[i, d] * drag[f]
            for c in range(D * D):
                for b in range(D * D):
                    K[j, c, b] += P[i, c] * Q[b]


@compiled_sums
def activities(item_start, view_worker, view_start, other, edge, first, M, G, T, tau, tau2, mu, P, work, mean, square):
    """E[A_t] and E[A_t^2] of all labels: eq. 7.7.3, corrected. Each label is computed in the view of its first item."""
    D = mu.shape[1]
    m, g, S = work[0], work[1], work[2]
    for i in range(mu.shape[0]):
        for v in range(item_start[i], item_start[i + 1]):
            j = view_worker[v]
            is_ready = False
            for e in range(view_start[v], view_start[v + 1]):
                t = edge[e]
                if first[t] != i:
                    continue
                if not is_ready:
                    is_ready = True
                    for d in range(D):
                        m[d] = g[d] = 0.0
                        for f in range(D):
                            m[d] += M[j, d * D + f] * mu[i, f]
                            g[d] += 2.0 * G[j, d * D + f] * mu[i, f]
                    for c in range(D * D):
                        S[c] = 0.0
                        for b in range(D * D):
                            S[c] += T[j, c, b] * P[i, b]
                o = other[e]
                a, a2 = tau[j], tau2[j]
                for d in range(D):
                    a += m[d] * mu[o, d]
                    a2 += g[d] * mu[o, d]
                for c in range(D * D):
                    a2 += S[c] * P[o, c]
                mean[t] = a
                square[t] = a2


@compiled_sums
def pair_activities(first, second, worker, M, G, T, tau, tau2, mu, P, mean, square):
    """E[A] and E[A^2] of any pairs of items, each for a worker."""
    D = mu.shape[1]
    for t in range(len(first)):
        a, b, j = first[t], second[t], worker[t]
        mean[t], square[t] = tau[j], tau2[j]
        for d in range(D):
            for f in range(D):
                mean[t] += mu[a, d] * M[j, d * D + f] * mu[b, f]
                square[t] += 2.0 * mu[a, d] * G[j, d * D + f] * mu[b, f]
        for c in range(D * D):
            total = 0.0
            for e in range(D * D):
                total += T[j, c, e] * P[b, e]
            square[t] += P[a, c] * total


@compiled
def tighten(square, delta, curvature, offset):
    """The best Delta_t of each label (eq. 7.3.9), 2 |lambda(Delta_t)|, and log g(Delta_t) - Delta_t / 2."""
    for t in range(len(square)):
        x = math.sqrt(max(square[t], 1e-12))
        decay = math.exp(-x)
        delta[t] = x
        curvature[t] = (1.0 - decay) / ((1.0 + decay) * 2.0 * x)
        offset[t] = -0.5 * x - math.log(1.0 + decay)


@compiled
def weigh(label, curvature, steady, first_view, second_view, trust, curve, half):
    """Labels count by their weight and by the probability that neither of their items was placed by a slip."""
    for t in range(len(label)):
        trust[t] = steady[first_view[t]] * steady[second_view[t]]
        curve[t] = abs(label[t]) * trust[t] * curvature[t]
        half[t] = 0.5 * label[t] * trust[t]


@compiled
def update_slips(view_start, edge, other_view, gain, prior_log_odds, steady):
    """The probability that the item of each view is placed steadily, given those of the other views, one by one.

    gain[t] is what the model explains of label t beyond the worker's share of pairs in one group.
    """
    for v in range(len(steady)):
        odds = prior_log_odds
        for e in range(view_start[v], view_start[v + 1]):
            odds += steady[other_view[e]] * gain[edge[e]]
        steady[v] = 1.0 / (1.0 + math.exp(-odds)) if odds > -700.0 else 0.0
