# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A change detector for one series, with bounded memory: points in as they come, alarms out.

docs/design/diagnosis.md describes the method ("The change test"). The result does not depend on how the points are
split over calls.
"""

from libc.math cimport NAN, fabs, isfinite, log
from libc.string cimport memmove

DEF MAX_WINDOW = 128  # points in the trailing window
DEF MIN_WINDOW = 16
DEF REFRESH_POINTS = 8  # noise changes slowly and is expensive to estimate
DEF RETURN_POINTS = 5  # the series has returned if the median of this many points has


cdef double _median(double* values, int n) noexcept nogil:
    """The median, by partial sorting in place."""
    cdef double upper, lower
    cdef int i
    if n == 0:
        return NAN
    upper = _select(values, n, n // 2)
    if n % 2:
        return upper
    lower = values[0]  # the lower middle is the largest value below the upper middle
    for i in range(1, n // 2):
        if values[i] > lower:
            lower = values[i]
    return 0.5 * (lower + upper)


cdef double _select(double* values, int n, int k) noexcept nogil:
    """The k-th smallest (Hoare's quickselect). Afterwards, nothing before index k is larger."""
    cdef int low = 0, high = n - 1, i, j
    cdef double pivot, swap
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                swap = values[i]
                values[i] = values[j]
                values[j] = swap
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


cdef class Cusum:
    """Finds where a series leaves its own recent level upwards (`sign` 1) or downwards (-1).

    First, every `block` points are averaged into one. `use_log` takes logarithms, for positive series. An alarm is
    raised when the sum of standardized surprises, each clipped to 3 and reduced by 1, exceeds `threshold`.
    """

    cdef readonly int block
    cdef readonly int sign
    cdef readonly bint use_log
    cdef readonly double threshold
    cdef readonly double min_scale  # smallest plausible noise, as a fraction of the level (absolute on a log scale)
    cdef readonly long long seen  # blocks
    cdef readonly double score
    cdef readonly list alarms  # dicts, in order; the last may still be open

    # The current block.
    cdef double _sum
    cdef int _in_block
    cdef long long _block_step
    # The trailing window: values in order of arrival, newest last, and their whitened residuals.
    cdef double _window[MAX_WINDOW]
    cdef double _residuals[MAX_WINDOW]
    cdef int _held
    cdef int _residuals_held
    cdef double _last_residual
    cdef bint _has_last
    cdef double _phi
    cdef double _sigma
    cdef int _noise_age
    # The current episode.
    cdef bint _open
    cdef dict _alarm
    cdef double _level
    cdef double _scale
    cdef long long _since
    cdef long long _rise_step  # where the score last left zero
    cdef long long _rise_index
    cdef double _recent[RETURN_POINTS]
    cdef int _recent_n
    cdef double _peak
    cdef long long _peak_step
    cdef double _episode_sum

    def __cinit__(self, int block=1, int sign=1, bint use_log=False, double threshold=14.0, double min_scale=1e-3):
        self.block, self.sign, self.use_log, self.threshold = block, sign, use_log, threshold
        self.min_scale = min_scale
        self.alarms = []

    def take(self, const long long[::1] steps, const double[::1] values):
        """Process the next points. Skips those that are not finite, or not positive on a log scale."""
        cdef Py_ssize_t i
        cdef double value
        for i in range(values.shape[0]):
            value = values[i]
            if not isfinite(value):
                continue
            if self.use_log:
                if value <= 0:
                    continue
                value = log(value)
            if self._in_block == 0:
                self._block_step = steps[i]
                self._sum = 0.0
            self._sum += value
            self._in_block += 1
            if self._in_block == self.block:
                self._in_block = 0
                self._point(self._block_step, steps[i], self.sign * self._sum / self.block)

    def forget(self):
        """Start over from the next point, as after an announced change."""
        self._held = self._residuals_held = self._noise_age = 0
        self._has_last = False
        self.score = 0.0
        self._close(False)

    cdef int _width(self) noexcept nogil:
        cdef long long width = self.seen // 8
        if width < MIN_WINDOW:
            return MIN_WINDOW
        return <int>(MAX_WINDOW if width > MAX_WINDOW else width)

    cdef _point(self, long long step, long long last_step, double value):
        cdef int width = self._width()
        cdef double level = NAN, scale = NAN, phi = 0.0, residual, surprise
        # A short window estimates the noise poorly, and more so if points are correlated: require more.
        cdef double threshold = self.threshold * (1.0 + 16.0 / width) * (1.0 + 0.5 * self._phi)
        cdef bint ready = self._held >= width and self._residuals_held >= width
        self.seen += 1
        if self._open:
            self._follow(last_step, value)
            return
        if self._held >= MIN_WINDOW:
            level = self._predict(width)
            residual = value - level
            if ready:
                if self._noise_age == 0 and (self.score <= 0.0 or self._sigma <= 0.0):
                    self._phi = self._persistence(width)
                    self._sigma = self._noise(width, self._phi, level)
                if self._noise_age != 0 or self.score <= 0.0:
                    self._noise_age = (self._noise_age + 1) % REFRESH_POINTS
                phi, scale = self._phi, self._sigma
                surprise = (residual - phi * self._last_residual) / scale
                surprise = 3.0 if surprise > 3.0 else (-3.0 if surprise < -3.0 else surprise)
                if self.score <= 0.0:
                    self._rise_step, self._rise_index = step, self.seen
                    self._level, self._scale = level, scale
                    self._peak, self._peak_step, self._episode_sum = value, step, 0.0
                self.score = max(0.0, self.score + surprise - 1.0)
                if self.score > 0.0:
                    self._episode_sum += value
                    if value > self._peak:
                        self._peak, self._peak_step = value, step
                if self.score > threshold:
                    self._raise_alarm(last_step, value)
                    return
            # Points under suspicion must not make the window adopt the new level.
            if self.score <= threshold / 3.0:
                self._keep_residual(residual)
            self._last_residual, self._has_last = residual, True
        if self.score <= threshold / 3.0:
            self._keep(value)

    cdef double _predict(self, int width) noexcept nogil:
        """The median of the newer half, minus half its fall from the older half: falls are expected to go on, rises not."""
        cdef double half_window[MAX_WINDOW]
        cdef int n = self._held if self._held < width else width
        cdef int half = n // 2, i
        cdef double newer, older
        for i in range(half):
            half_window[i] = self._window[self._held - half + i]
        newer = _median(half_window, half)
        for i in range(half):
            half_window[i] = self._window[self._held - 2 * half + i]
        older = _median(half_window, half)
        return newer + (0.5 * (newer - older) if newer < older else 0.0)

    cdef double _persistence(self, int width) noexcept nogil:
        """The fraction of a residual that carries over to the next one, clipped to 0..0.9."""
        cdef double products = 0.0, squares = 0.0, a, b
        cdef int i, first = self._residuals_held - width
        for i in range(first + 1, self._residuals_held):
            a, b = self._residuals[i - 1], self._residuals[i]
            products += a * b
            squares += a * a
        if squares <= 0.0:
            return 0.0
        a = products / squares
        return 0.0 if a < 0.0 else (0.9 if a > 0.9 else a)

    cdef double _noise(self, int width, double phi, double level) noexcept nogil:
        cdef double spread[MAX_WINDOW]
        cdef int i, n = 0, first = self._residuals_held - width
        cdef double center, floor
        for i in range(first + 1, self._residuals_held):
            spread[n] = self._residuals[i] - phi * self._residuals[i - 1]
            n += 1
        center = _median(spread, n)
        for i in range(n):
            spread[i] = fabs(spread[i] - center)
        floor = self.min_scale if self.use_log else self.min_scale * fabs(level)
        center = 1.4826 * _median(spread, n)
        return center if center > floor else (floor if floor > 0 else 1e-300)

    cdef void _keep(self, double value) noexcept nogil:
        if self._held == MAX_WINDOW:
            memmove(&self._window[0], &self._window[1], (MAX_WINDOW - 1) * sizeof(double))
            self._held -= 1
        self._window[self._held] = value
        self._held += 1

    cdef void _keep_residual(self, double value) noexcept nogil:
        if self._residuals_held == MAX_WINDOW:
            memmove(&self._residuals[0], &self._residuals[1], (MAX_WINDOW - 1) * sizeof(double))
            self._residuals_held -= 1
        self._residuals[self._residuals_held] = value
        self._residuals_held += 1

    # ---- episodes

    cdef _raise_alarm(self, long long step, double value):
        self._open = True
        self._since = 0
        self._recent_n = 0
        self._alarm = {
            "first_step": self._rise_step,
            "alarm_step": step,
            "points": self.seen - self._rise_index + 1,
            "level": self._unsigned(self._level),
            "scale": self._scale,
            "peak": self._unsigned(self._peak),
            "peak_step": self._peak_step,
            "end_step": None,
            "returned": None,  # None: still open
            "last": self._unsigned(value),
        }
        self.alarms.append(self._alarm)

    cdef _follow(self, long long step, double value):
        """Update an open episode. It ends when the series is back at its old level, or after ten windows away from it."""
        cdef double recent[RETURN_POINTS]
        cdef int i
        cdef dict alarm = self._alarm
        self._since += 1
        if value > self._peak:
            self._peak, self._peak_step = value, step
            alarm["peak"], alarm["peak_step"] = self._unsigned(value), step
        alarm["last"] = self._unsigned(value)
        self._recent[(self._since - 1) % RETURN_POINTS] = value
        if self._recent_n < RETURN_POINTS:
            self._recent_n += 1
        if self._recent_n == RETURN_POINTS:
            for i in range(RETURN_POINTS):
                recent[i] = self._recent[i]
            if _median(recent, RETURN_POINTS) <= self._level + 1.5 * self._scale:
                alarm["end_step"] = step
                self._close(True)
                self._restart(False)
                return
        if self._since >= 10 * self._width():
            alarm["end_step"] = step
            self._close(False)
            self._restart(True)

    cdef _close(self, bint returned):
        if self._open:
            self._alarm["returned"] = returned
        self._open = False

    cdef _restart(self, bint forget_level):
        self.score = 0.0
        if forget_level:
            self._held = self._residuals_held = self._noise_age = 0
            self._has_last = False

    cdef double _unsigned(self, double value):
        return self.sign * value
