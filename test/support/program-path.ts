import { packages, pathOf, type TestProgram } from '../../scripts/test-servers/programs.ts'

/**
 * The path of an installed program. When it is missing, skips the test or suite of `context`, which fails a run
 * with `CI=true` (left-out.ts). Throws without a context.
 */
export function programPath(program: TestProgram, context?: Mocha.Context): string {
  const path = pathOf(program)
  if (path !== undefined) return path
  context?.skip()
  throw new Error(
    `${program} is not installed. As root: apt-get install ${packages[program].join(' ')}`,
  )
}
