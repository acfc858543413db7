#!/usr/bin/env node
/** The command line: what there is to type. Each command's work is in a file of its own, loaded when it is asked for. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { reportFailure } from './failure.js'
import { packageVersion } from './version.js'

const program = new Command('sparring')
  .description('Language models learn to reason by playing against each other.')
  .version(packageVersion())
  .option('--debug', 'show where in the code an error arose (also SPARRING_DEBUG=1)')
  .addHelpText(
    'after',
    '\nA first run, with no GPU and no download: sparring train pasodoble-tiny\nsparring COMMAND --help has examples.',
  )
  .exitOverride()
  .configureOutput({ outputError: () => {} })

const command = (usage: string) => program.command(usage).allowExcessArguments(false)

command('train')
  .description('play a run file, or go on with a run')
  .argument('[recipe]', 'run file, or the name of a recipe that comes with the package')
  .option('--run <folder>', 'folder of the run (default: runs/RECIPE-seedN)', path)
  .option('--rounds <n>', "rounds to play in all (default: the run file's)", wholeNumber(1))
  .option('--seed <n>', "seed of every random draw (default: the run file's, or 0)", wholeNumber(0))
  .option('--set <key=value>', 'change a value of the run file, given as YAML; may be repeated', append)
  .option('--resume', 'go on from the newest checkpoint of the run')
  .option('--dry-run', 'check everything and show what the run asks for and lacks, but play nothing')
  .option('--no-report', 'leave no report.html in the folder of the run when it ends')
  .option('--json', 'print events as JSON, one a line')
  .addHelpText(
    'after',
    examples([
      ['sparring train pasodoble-tiny', 'a recipe (sparring recipes lists them)'],
      ['sparring train my.yaml --rounds 20 --set settings.questions=4', 'a file, two values changed'],
      ['sparring train pasodoble-qwen3-1.7b --dry-run', 'what a run asks for and lacks'],
      ['sparring train --run runs/pasodoble-tiny-seed0 --resume', 'go on with a run'],
    ]),
  )
  .action(async (recipe, { set = [], ...options }) =>
    (await import('./train.js')).train(recipe, { ...options, set }),
  )

command('eval')
  .description('measure the accuracy of a model, or of a service, on problems with known answers')
  .argument('[benchmark...]', 'arithmetic, gsm8k, math500 ..., or a JSONL file of {problem, answer}')
  .option(
    '--model <name>',
    'model folder, or a run (its newest checkpoint); with --endpoint, a name there',
    path,
  )
  .option('--role <name>', "role of the run (default: the one that the run's held-out problems are put to)")
  .option('--endpoint <url>', 'base address of a service that speaks the OpenAI protocol')
  .option('--api-key-env <name>', 'environment variable that holds its key (default: OPENAI_API_KEY)')
  .option('--concurrency <n>', 'requests to it at the same time (default: 16)', wholeNumber(1))
  .option('--protocol <name>', 'how problems are put and answers sampled: pasodoble, gar, greedy ...')
  .option('--data <folder>', 'folder that holds the data of benchmarks (default: the Hugging Face Hub)', path)
  .option('--offline', 'take data from the cache alone (also HF_HUB_OFFLINE=1)')
  .option(
    '--limit <n>',
    'problems to take of each benchmark (default: 512 of arithmetic, all of the others)',
    wholeNumber(1),
  )
  .option(
    '--samples <n>',
    "samples a problem (default, as of the next three: the protocol's)",
    wholeNumber(1),
  )
  .option('--temperature <t>', 'temperature of the samples; 0 is greedy', decimal)
  .option('--top-p <p>', 'share of the probability that is sampled from', decimal)
  .option('--max-tokens <n>', 'most tokens of an answer', wholeNumber(1))
  .option('--seed <n>', 'seed of the samples (default: 0)', wholeNumber(0))
  .option('--k <list>', 'pass@k to report beside k = 1, 2, 4 ..., such as 3,5', wholeNumbers)
  .option(
    '--out <file>',
    'results file (default: under evals/, by benchmark, model and protocol); where the answers are also taken ' +
      'greedily, those stand beside it as FILE-PROTOCOL.json',
    path,
  )
  .option('--compare <files...>', 'compare two results files instead')
  .option('--threads <n>', 'threads of the engine (default: the cores)', wholeNumber(1))
  .option('--json', 'print events as JSON, one a line')
  .addHelpText(
    'after',
    examples([
      ['sparring eval arithmetic --model models/tiny', 'a model folder'],
      ['sparring eval problems.jsonl --model runs/pasodoble-tiny-seed0', "a run's newest checkpoint"],
      ['sparring eval gsm8k --endpoint http://localhost:8000/v1 --model NAME', 'a service'],
      ['sparring eval --compare evals/before.json evals/after.json', 'problem by problem'],
    ]),
  )
  .action(async (benchmarks, options) => (await import('./eval.js')).evalCommand(benchmarks, options))

command('contamination')
  .description('look for the problems of a benchmark in knowledge or training texts')
  .argument(
    '<texts...>',
    'files of texts (.jsonl, .json, .csv, .parquet, .txt, .md, .tex), or folders of them',
  )
  .requiredOption('--benchmark <name>', 'benchmark, or a JSONL file of {problem, answer}', path)
  .option('--data <folder>', "folder that holds the benchmark's data (default: the Hub)", path)
  .option('--n <n>', 'words of a run that counts as shared', wholeNumber(1), 13)
  .option('--out <file>', 'file to write what was found of every problem to, as JSON', path)
  .option('--json', 'print events as JSON, one a line')
  .action(async (texts, options) => (await import('./contamination.js')).contamination(texts, options))

command('grade')
  .description('judge the answers of a JSONL file of {gold, prediction}, a verdict a line')
  .argument('<cases>', 'lines may also hold kind (response or answer), choices, equal and disputed')
  .option(
    '--extract <methods>',
    'where responses are searched, in order: answer_tag,boxed,hashes,phrase,final',
  )
  .option(
    '--tolerance <t>',
    'relative difference allowed to a decimal where the other side has none',
    decimal,
    1e-6,
  )
  .option('--unevaluated <rule>', 'accept, or refuse 3+4 where the gold answer is the numeral 7', 'accept')
  .option('--processes <n>', 'processes that grade', wholeNumber(1), 2)
  .option('--deadline <seconds>', 'most time for one case', decimal, 5)
  .option('--json', 'print events as JSON, one a line')
  .action(async (cases, options) => (await import('./grade.js')).grade(cases, options))

command('sample')
  .description('let a model answer a prompt')
  .requiredOption(
    '--model <name>',
    'model folder, pulled model of the Hub, or a run (its newest checkpoint)',
    path,
  )
  .requiredOption('--prompt <text>', 'what the model is asked; - reads it from standard input')
  .option('--role <name>', "role of the run (default: the one that the run's held-out problems are put to)")
  .option('--system <text>', 'system message')
  .option('--no-thinking', 'tell the chat template to leave thinking out, where it can')
  .option('--raw', 'go on from the prompt as it is, without the chat template')
  .option('--n <n>', 'completions', wholeNumber(1), 1)
  .option('--max-tokens <n>', 'most tokens of a completion', wholeNumber(1), 512)
  .option('--temperature <t>', 'temperature; 0 is greedy', decimal, 1)
  .option('--seed <n>', 'seed of the samples', wholeNumber(0), 0)
  .option('--threads <n>', 'threads of the engine (default: the cores)', wholeNumber(1))
  .option('--json', 'print events as JSON, one a line')
  .action(async (options) => (await import('./sample.js')).sample(options))

command('arena')
  .description('let snapshots of both roles of a run play each other: cross-play and Elo')
  .argument('<run>', 'folder of the run')
  .option('--rounds <list>', 'rounds to play, such as 0,20,40 (default: of all kept, 8 at most)', rounds)
  .option('--questions <n>', 'tasks that each snapshot is asked to set', wholeNumber(1), 64)
  .option('--seed <n>', "seed of every random draw (default: the run's)", wholeNumber(0))
  .option('--out <file>', 'file to write (default: arena.json in the run, where the page finds it)', path)
  .option('--threads <n>', "threads of the engine (default: the run's)", wholeNumber(1))
  .option('--json', 'print events as JSON, one a line')
  .action(async (run, options) => (await import('./arena.js')).arena(run, options))

const probe = command('probe').description('look into models for what an accuracy does not show')

probe
  .command('memorisation')
  .description("let a model continue the beginnings of a run's questions: does it know them by heart?")
  .argument('<runs...>', 'folders of runs whose questions are taken')
  .requiredOption('--model <name>', 'model folder, or a run (its newest checkpoint)', path)
  .option('--role <name>', 'role that wrote the questions', 'proposer')
  .option('--prefixes <list>', 'per cent of a question to give, in tokens', wholeNumbers, [20, 40, 60, 80])
  .option('--last <n>', 'rounds to take questions from, the newest (default: all)', wholeNumber(1))
  .option('--limit <n>', 'most questions of a run, drawn by the seed', wholeNumber(1), 512)
  .option('--seed <n>', 'seed of that draw', wholeNumber(0), 0)
  .option('--out <file>', 'file to draw the picture in, as SVG', path)
  .option('--threads <n>', 'threads of the engine (default: the cores)', wholeNumber(1))
  .option('--json', 'print events as JSON, one a line')
  .action(async (runs, options) => (await import('./probe-memorisation.js')).probeMemorisation(runs, options))

probe
  .command('entropy')
  .description('entropy of the tokens of answers, right and wrong, before and after')
  .argument('<models...>', 'a run (its start and its newest checkpoint), or one or two models')
  .option('--benchmark <name>', 'problems: see sparring eval', 'arithmetic')
  .option('--role <name>', "role of the run (default: the one that the run's held-out problems are put to)")
  .option('--protocol <name>', 'how problems are put: game, gar ... (default: as eval chooses it)')
  .option('--data <folder>', 'folder that holds the data of benchmarks (default: the Hugging Face Hub)', path)
  .option('--offline', 'take data from the cache alone (also HF_HUB_OFFLINE=1)')
  .option('--limit <n>', 'problems to take (default: 512 of arithmetic, all of the others)', wholeNumber(1))
  .option('--samples <n>', 'answers a problem', wholeNumber(1), 1)
  .option('--temperature <t>', 'temperature of the samples', decimal, 0.6)
  .option('--top-p <p>', 'share of the probability that is sampled from', decimal, 0.95)
  .option('--max-tokens <n>', 'most tokens of an answer', wholeNumber(1))
  .option('--seed <n>', 'seed of the samples', wholeNumber(0), 0)
  .option('--out <file>', 'file to draw the picture in, as SVG', path)
  .option('--threads <n>', 'threads of the engine (default: the cores)', wholeNumber(1))
  .option('--json', 'print events as JSON, one a line')
  .action(async (models, options) => (await import('./probe-entropy.js')).probeEntropies(models, options))

command('pull')
  .description('fetch a model or a data set of the Hugging Face Hub, or what of it is not there yet')
  .argument('<model>', 'its name, such as Qwen/Qwen3-0.6B')
  .option('--revision <name>', 'branch, tag or commit (default: main)', name)
  .option('--to <folder>', "folder for the files (default: the cache of Hugging Face's tools)", path)
  .option('--no-weights', 'configuration and tokenizer only, which is what a model of a service needs here')
  .option('--dataset', 'it is a data set: its Parquet and JSONL files')
  .option('--only <folder>', 'folder of a data set whose files are wanted (default: all)', name)
  .option('--offline', 'only find it in the cache (also HF_HUB_OFFLINE=1)')
  .option('--json', 'print events as JSON, one a line')
  .action(async (model, options) => (await import('./pull.js')).pull(model, options))

command('export')
  .description("write a role's weights as a model folder or an adapter that other tools load")
  .argument('<run>', 'folder of the run, its newest checkpoint; FOLDER@N is the one after N rounds')
  .requiredOption('--out, --to <folder>', 'folder to write', path)
  .option('--role <name>', "role of the run (default: the one that the run's held-out problems are put to)")
  .addOption(
    new Option('--form <form>', 'folder: full weights; peft: an adapter; merged: an adapter in its model')
      .choices(['folder', 'merged', 'peft'])
      .default(undefined, 'folder or peft, as it was trained'),
  )
  .addOption(new Option('--dtype <type>', 'numbers to store').choices(['f32', 'bf16']).default('f32'))
  .option('--force', 'replace what the folder holds of a model or an adapter')
  .option('--json', 'print events as JSON, one a line')
  .addHelpText(
    'after',
    examples([
      ['sparring export runs/NAME --role solver --to solver', 'the newest checkpoint'],
      ['sparring export runs/NAME@40 --role solver --to solver-40', 'the one after 40 rounds'],
      ['sparring export runs/NAME --form merged --to model', 'an adapter merged into its model'],
    ]),
  )
  .action(async (run, options) => (await import('./export.js')).exportRole(run, options))

command('ui')
  .description('serve a web page of the runs of a folder, finished and running')
  .argument('[runs]', 'folder of runs, or of a single one', path, 'runs')
  .option('--port <n>', 'port to listen on (default: the first free one from 7700 on)', wholeNumber(0))
  .option(
    '--host <name>',
    'address to listen on; others than the default can be reached from elsewhere',
    name,
    '127.0.0.1',
  )
  .option(
    '--allow-host <name>',
    "name that the page may be opened by beside this machine's own, such as node17.cluster.example; may be repeated",
    append,
  )
  .option('--json', 'print events as JSON, one a line')
  .action(async (folder, options) => (await import('./ui.js')).ui(folder, options))

command('report')
  .description('write a run as one HTML file that can be read without a server')
  .argument('<run>', 'folder of the run', path)
  .option('--out <file>', 'file to write (default: report.html in the folder of the run)', path)
  .option('--json', 'print events as JSON, one a line')
  .action(async (run, options) => (await import('./report.js')).report(run, options))

command('metrics')
  .description('write the metrics of a run, or its rollouts, for other tools')
  .argument('<run>', 'folder of the run', path)
  .requiredOption('--to <path>', 'file to write; of tensorboard and cookbook, a folder', path)
  .addOption(
    new Option(
      '--form <form>',
      'tensorboard: an event file; csv, parquet: a row a round; cookbook: the layout of tinker-cookbook runs',
    )
      .choices(['tensorboard', 'csv', 'parquet', 'cookbook'])
      .default(undefined, 'csv or parquet where the path ends so, else tensorboard'),
  )
  .option('--rollouts', 'the rollouts in place of the metrics, a row each (parquet)')
  .option('--json', 'print events as JSON, one a line')
  .addHelpText(
    'after',
    examples([
      ['sparring metrics runs/NAME --to numbers.csv', 'a row a round'],
      ['sparring metrics runs/NAME --rollouts --to rollouts.parquet', 'a row a completion'],
      ['sparring metrics runs/NAME --to logs/NAME', 'for tensorboard --logdir logs'],
    ]),
  )
  .action(async (run, options) => (await import('./metrics.js')).metrics(run, options))

command('recipes')
  .description('list the run files that come with the package')
  .option('--json', 'print events as JSON, one a line')
  .action(async (options) => (await import('./recipes.js')).recipes(options))

command('games')
  .description('list the games and their roles')
  .option('--json', 'print events as JSON, one a line')
  .action(async (options) => (await import('./games.js')).games(options))

command('doctor')
  .description('check that this machine can run the local engine')
  .option('--json', 'print events as JSON, one a line')
  .action(async (options) => (await import('./doctor.js')).doctor(options))

function examples(lines: readonly (readonly [command: string, what: string])[]): string {
  const width = Math.max(...lines.map(([command]) => command.length))
  return `\nExamples:\n${lines.map(([command, what]) => `  ${command.padEnd(width)}  ${what}`).join('\n')}`
}

function wholeNumber(least: number) {
  return (text: string): number => {
    const value = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value
    throw new InvalidArgumentError(`It must be a whole number >= ${least}.`)
  }
}

function wholeNumbers(text: string): number[] {
  return text.split(',').map((each) => wholeNumber(1)(each.trim()))
}

function rounds(text: string): number[] {
  return text.split(',').map((each) => wholeNumber(0)(each.trim()))
}

/** An empty path, as of a shell variable that is not set, would be the working folder. */
function path(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('It must be the path of a file or folder.')
}

function name(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('It must be a name.')
}

function decimal(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value
  throw new InvalidArgumentError('It must be a number >= 0.')
}

function append(text: string, before: string[] = []): string[] {
  return [...before, text]
}

// A reader that went away, as in `sparring games | head -1`, is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit()
    const name = stream === process.stdout ? 'Standard output' : 'Standard error'
    if (stream === process.stdout)
      process.stderr.write(`error: ${name} cannot be written: ${error.message}.\n`)
    process.exit(1)
  })
}

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = reportFailure(error, {
    json: process.argv.includes('--json'),
    debug: process.argv.includes('--debug') || process.env.SPARRING_DEBUG === '1',
  })
}
