/** Required in a worker before all else: its primary may end while Node itself starts. */
import cluster from 'node:cluster'

process.prependOnceListener('disconnect', end)
cluster.worker?.on('error', end)

/** From now on a worker finishes what is under way when its primary ends. */
export function outliveStart(): void {
  process.off('disconnect', end)
  cluster.worker?.off('error', end)
}

function end(): void {
  process.stderr.write('The gateway cannot start: The primary process ended. Start it again.\n')
  process.exit(1)
}
