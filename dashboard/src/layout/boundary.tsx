import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import { toRefusal } from '../data/load.ts'
import { place } from '../data/place.ts'
import { Failure } from '../elements/failure.tsx'

/** Shows an error in place of a page that fails to render, until the address changes. */
export function Boundary({ children }: { children: ComponentChildren }) {
  const [error, again] = useErrorBoundary() as [unknown, () => void]
  const { path } = place.value
  useEffect(() => {
    if (error !== undefined) again()
  }, [path])
  if (error === undefined) return <>{children}</>
  return (
    <>
      <h1>This page cannot be shown</h1>
      <Failure error={toRefusal(error)} again={again} />
    </>
  )
}
