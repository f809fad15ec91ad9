import type { ButtonHTMLAttributes } from "react";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: "plain" | "main" | "danger";
}

const tones = {
  plain: "border-edge bg-raised hover:bg-hover",
  main: "border-transparent bg-accent text-on-accent hover:opacity-90",
  danger: "border-edge bg-raised text-bad hover:border-bad",
};

export function Button({ tone = "plain", className = "", type = "button", ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className={`inline-flex h-7 shrink-0 items-center gap-1.5 rounded-md border px-2.5 font-medium whitespace-nowrap disabled:opacity-50 max-sm:h-9 ${tones[tone]} ${className}`}
    />
  );
}
