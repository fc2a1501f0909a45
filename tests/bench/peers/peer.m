% eigs of GNU Octave on a stored, centred kernel matrix: see ../peer.h.
function reply(line)
  words = strsplit(strtrim(line), ' ');
  numbers = cellfun(@str2double, words(3:end));
  file = fopen(words{2}, 'r', 'ieee-le');
  header = fread(file, 128, 'uint8=>char')'(11:end);  % as the bench writes them
  shape = sscanf(regexp(header, '\(\d+, \d+\)', 'match'){1}, '(%d, %d)');
  type = {'single', 'double'}{1 + !isempty(strfind(header, '<f8'))};
  x = fread(file, [shape(2), shape(1)], [type '=>' type])';
  fclose(file);

  start = tic;
  z = x / numbers(1);
  half = sumsq(z, 2) / 2;
  k = exp(z * z' - half - half');
  means = mean(k, 1);
  k = k - means - means' + mean(means);
  options.tol = numbers(3);
  options.issym = true;
  [vectors, values] = eigs(double(k), numbers(2), 'la', options);  % it has none for single
  seconds = toc(start);
  printf('ok %.9g', seconds);
  printf(' %.17g', sort(diag(values), 'descend') / rows(x));
  printf(' # Octave %s\n', version());
  fflush(stdout);
end

while ischar(line = fgetl(stdin))
  if isempty(line)
    continue
  end
  try
    reply(line);
  catch problem
    printf('error %s\n', strrep(problem.message, "\n", ' '));
    fflush(stdout);
  end
end
