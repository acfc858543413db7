/** Worked examples for base models, which have learnt no chat: four of them, from easy to middling. */
export const mathsShots: readonly { question: string; answer: string }[] = [
  {
    question:
      'A bakery sells bread rolls in bags of 6. On Monday it sold 15 bags, on Tuesday 4 bags fewer. How many rolls did it sell on the two days together?',
    answer:
      'On Tuesday it sold 15 - 4 = 11 bags. On both days it sold 15 + 11 = 26 bags. Each bag holds 6 rolls, so it sold 26 * 6 = 156 rolls. The answer is $\\boxed{156}$.',
  },
  {
    question: 'Solve the equation $\\frac{3x - 5}{4} = x - 3$ for $x$.',
    answer:
      'Multiply both sides by 4: $3x - 5 = 4x - 12$. Take $3x$ from both sides and add 12: $7 = x$. Check: $\\frac{21 - 5}{4} = 4$ and $7 - 3 = 4$. The answer is $\\boxed{7}$.',
  },
  {
    question:
      'Two fair dice are thrown. What is the probability that the sum of the two numbers is a multiple of 4? Give a common fraction.',
    answer:
      'The sum can be 4, 8 or 12. Of the 36 equally likely pairs, 3 have the sum 4, 5 have the sum 8 and 1 has the sum 12. That is 9 pairs, so the probability is $\\frac{9}{36} = \\frac{1}{4}$. The answer is $\\boxed{\\frac{1}{4}}$.',
  },
  {
    question: 'How many positive divisors of $2^4 \\cdot 3^3$ are divisible by 6 but not by 9?',
    answer:
      'A divisor has the form $2^a 3^b$ with $0 \\le a \\le 4$ and $0 \\le b \\le 3$. Divisible by 6 means $a \\ge 1$ and $b \\ge 1$; not divisible by 9 means $b \\le 1$. So $b = 1$, and $a$ is one of 1, 2, 3, 4. There are 4 such divisors. The answer is $\\boxed{4}$.',
  },
]
