% Fits for longer than a minute and presses the interrupt key 2 s after the start. No try sees Octave's interrupt; what is in
% unwind_protect_cleanup runs, and the session goes on with its next line.
function press_key (what)
  global late
  x = rand (60000, 16);
  at = tempname ();
  system (sprintf ('(sleep 2; date +%%s.%%N >%s; kill -INT %d) &', at, getpid ()));
  seen = true;
  unwind_protect
    try
      switch (what)
        case 'stream' % 1.8e9 kernel values a pass; never converges to 1e-15: 147 s when nobody stops it
          mercer_mex ('fit', x, 'kpca', {'gram.storage', 'stream', 'solver.tol', '1e-15', 'solver.max_passes', '1000'}, []);
        case 'kernel' % 2080 tiles of 20 ms
          mercer_mex ('fit', x(1:16384, :), 'kpca', {'kernel', 'user'}, @(x, y) slow (x, y, 0.02));
        case 'tile' % one that alone takes longer than anyone waits
          mercer_mex ('fit', x(1:1000, :), 'kpca', {'kernel', 'user'}, @(x, y) slow (x, y, 100));
      end
      seen = false;
    catch e
      disp (e.message);
      seen = false;
    end
  unwind_protect_cleanup
    if (seen) late(end + 1) = time () - str2double (fileread (at)); end
    mercer_mex ('destroy', mercer_mex ('fit', x(1:300, :), 'kpca', {}, [])); % the next call succeeds
    delete (at);
  end_unwind_protect
end

function [k, e] = slow (x, y, seconds)
  e = [];
  t = time ();
  while (time () - t < seconds) end
  k = x * y';
end
