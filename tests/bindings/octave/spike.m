% What Octave needs of the ABI, tried on it. Run in the folder of mercer_mex.mex.
1;

function model = fit (x, method, f, varargin)
  if (! isempty (f)) f = @(x, y) guarded (f, x, y); end
  model = own (mercer_mex ('fit', x, method, cellfun (@as_text, varargin, 'UniformOutput', false), f));
end

function [k, e] = guarded (f, x, y)
  k = []; e = [];
  try
    k = f (x, y);
  catch e
  end
end

function model = own (handle) % destroyed with its last copy
  model = struct ('handle', handle, 'end_', onCleanup (@() mercer_mex ('destroy', handle)));
end

function text = as_text (value)
  if (ischar (value)) text = value; else text = sprintf ('%.17g', value); end
end

function z = transform (model, x)
  z = mercer_mex ('transform', model.handle, x);
end

function ok = same (a, b, tol)
  ok = all (min (max (abs (a - b)), max (abs (a + b))) < tol);
end

function text = message_of (f, varargin)
  try
    f (varargin{:});
  catch e
    text = e.message;
    return
  end
  error ('nothing was raised');
end

function k = gaussian (x, y, sigma)
  k = exp (-max (sum (x.^2, 2) + sum (y.^2, 2)' - 2 * x * y', 0) / (2 * sigma^2));
end

function k = broken (x, y)
  error ('own:id', 'my own text');
end

function k = nested (model, f, x, y) % uses the library inside of its own call
  transform (model, x);
  message_of (@transform, model, x(:, 1:2));
  k = f (x, y);
end

function kb = rss ()
  kb = sscanf (regexp (fileread ('/proc/self/status'), 'VmRSS:\s*\d+', 'match'){1}, 'VmRSS: %d');
end

randn ('state', 1);
rand ('state', 1);
x = randn (400, 5) + 3 * floor (3 * rand (400, 1));
q = randn (70, 5);
sigma = 4;
r = 6;
g = @(a, b) gaussian (a, b, sigma);

% Numbers: the centred kernel matrix by Octave's own eig.
h = eye (400) - 1 / 400;
[v, l] = eig (h * g (x, x) * h);
[l, order] = sort (diag (l), 'descend');
scores = v(:, order(1:r)) .* sqrt (l(1:r))';
model = fit (x, 'kpca', [], 'sigma', sigma, 'components', r);
assert (400 * mercer_mex ('tensor', model.handle, 'lambda'), l(1:r), 1e-10 * l(1));
assert (same (transform (model, x), scores, 1e-8));
z = transform (fit (single (x), 'kpca', [], 'sigma', sigma, 'components', r), single (x));
assert (isa (z, 'single') && same (z, scores, 2e-3));

% A kernel in Octave, which then raises.
user = fit (x, 'kpca', g, 'kernel', 'user', 'components', r);
assert (same (transform (user, x), scores, 1e-7));
assert (message_of (@fit, x, 'kpca', @broken, 'kernel', 'user'), 'my own text');
assert (lasterror ().identifier, 'own:id');
message_of (@fit, x, 'kpca', @(a, b) a, 'kernel', 'user')
assert (same (transform (user, x), scores, 1e-7));
assert (same (transform (fit (x, 'kpca', @(a, b) nested (model, g, a, b), 'kernel', 'user', 'components', r), x), scores, 1e-7));

% Bytes.
b = mercer_mex ('write', model.handle);
assert (isa (b, 'uint8'));
again = own (mercer_mex ('read', b));
assert (isequal (transform (again, q), transform (model, q)));

% Finalisers.
clear user
assert (mercer_mex ('alive'), 0);

% Misuse, and memory that stays flat over it.
bad = x;
bad(4, 2) = NaN;
cases = {@() fit(x, 'kpca', [], 'sigm', 1), @() fit(x, 'kpca', [], 'sigma', -1), @() fit(bad, 'kpca', []), @() fit(x, 'kpcaa', []), ...
         @() transform(model, q(:, 1:2)), @() mercer_mex('read', uint8 (1:99)), @() mercer_mex('tensor', model.handle, 'Z'), ...
         @() fit(x, 'kpca', @broken, 'kernel', 'user')};
cellfun (@(f) printf ('    %s\n', message_of (f)), cases);
for i = 1:250
  if (i == 50) before = rss (); end
  cellfun (@message_of, cases, 'UniformOutput', false);
end
printf ('%d kB more after 200 repeats of %d errors\n', rss () - before, numel (cases));
assert (rss () - before < 4000);
assert (mercer_mex ('alive'), 0);
